import Broker
import PusherProtocol

/// Decides about a shard's channels and users in place of the shard when several nodes share them.
///
/// The shard keeps its connections and the fan-out to them. The order of the messages, the members and the counts are
/// those of all nodes. Confined to the shard's thread.
protocol SharedHome: AnyObject {
    /// Publishes the event of a backend, and returns the outcome if the event is refused at once.
    ///
    /// Otherwise the outcome is reported to `origin` later.
    func publish(
        _ publication: Publication,
        on address: ChannelAddress,
        origin: () -> ChannelBacklog.Origin
    ) -> PendingTrigger.Outcome?

    /// Publishes the event of a client.
    func publish(_ event: ClientEvent, by author: ClientEventAuthor, on address: ChannelAddress)

    /// Makes a subscription wait if it cannot be granted yet, and returns whether it waits and continues later.
    ///
    /// The position is that of a client that tracks the channel.
    func waits(
        _ request: SubscriptionRequest,
        to address: ChannelAddress,
        as member: Member?,
        from position: PositionRequest?
    ) -> Bool

    /// Removes the subscription of a connection that has unsubscribed meanwhile, and returns whether it was waiting.
    func withdraw(_ id: SocketID, from address: ChannelAddress) -> Bool

    /// Called when a subscription was granted, or refused.
    func subscribed(at address: ChannelAddress)

    /// Called when the number of subscriptions of this node's connections may have changed.
    func countChanged(at address: ChannelAddress)

    /// Called with an event of a channel among this node's own subscribers, which may not apply to all nodes.
    ///
    /// - Returns: Whether this node notifies the observers.
    func reports(_ event: ChannelEvent, at address: ChannelAddress) -> Bool

    /// The cached event that precedes a replay; `nil` if there is none.
    func cachedOpening(at address: ChannelAddress, ahead replay: Replay?) -> Grant.CachedOpening?

    /// The members at the beginning of a subscription; `nil` if the channel has none.
    func members(at address: ChannelAddress) -> [Member]?

    /// Answers a query, now or later.
    func answer(_ query: ShardQuery, _ finish: @escaping (HomeAnswer) -> Void)

    /// Lists occupied channels, now or later.
    func list(_ range: ChannelRange, _ finish: @escaping (ChannelPortion) -> Void)

    /// Called when a connection of this node has signed in.
    func signedIn(_ user: UserAddress)

    /// Called when a connection of this node has signed out.
    func signedOut(_ user: UserAddress)

    /// Adds a watcher of users, and returns the known states; the others are reported later.
    func watch(_ ids: [UserID], of app: AppID, by watcher: UserHome.Watcher) -> UserHome.Report

    /// Removes a watcher of users.
    func unwatch(_ ids: [UserID], of app: AppID, by watcher: UserHome.Watcher)

    /// The number of users with connections or watchers on this node.
    var followedUserCount: Int { get }

    /// Makes a connection the owner of its session; this call and the others are answered by a ``SessionMessage``.
    func claim(_ claim: SessionClaim)

    /// Stores the cursors of a connection that has ended, or yields.
    func park(_ handover: SessionHandover)

    /// Called when a superseded connection has answered a ping, so that two connected clients use the token.
    func share(_ address: SessionAddress, _ id: SocketID)

    /// Stores a session that its owner continues to use.
    func keep(_ session: StoredSession)
}
