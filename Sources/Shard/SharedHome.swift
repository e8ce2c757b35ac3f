package import Broker
package import PusherProtocol

/// Decides about a shard's channels and users in place of the shard when several nodes share them.
///
/// The shard keeps its connections and the fan-out to them. The order of the messages, the members and the counts are
/// those of all nodes. Confined to the shard's thread.
package protocol SharedHome: AnyObject {
    /// Publishes an event, and returns the outcome if it is refused at once; otherwise `publisher` gets it later.
    func publish(
        _ event: ProposedEvent,
        on address: ChannelAddress,
        by publisher: () -> Proposal.Publisher
    ) -> PendingTrigger.Outcome?

    /// Answers a query, now or later.
    func answer(_ query: ShardQuery, _ finish: @escaping (HomeAnswer) -> Void)

    /// Lists occupied channels, now or later.
    func list(_ range: ChannelRange, _ finish: @escaping (ChannelPortion) -> Void)

    /// The shared part of the channels.
    var channelHome: any SharedChannelHome { get }

    /// The shared part of the users.
    var userHome: any UserAuthority { get }

    /// The shared part of the sessions.
    var sessionHome: any SessionAuthority { get }

    // MARK: - The turn

    /// Connects for the first time.
    func connect()

    /// Whether there is work that is done in portions, one each turn.
    var hasWork: Bool { get }

    /// Does a portion of it.
    func advance()

    /// Sends the messages that were published in this turn; returns whether there were any.
    @discardableResult
    func sendMessages() -> Bool

    /// Called when a webhook of a queue is completed.
    func settle(_ id: QueuedEvent.ID, isDelivered: Bool)

    /// The gauges and counters.
    var reading: ClusterReading { get }

    /// The number of messages that wait to be ordered, of sessions that wait, and of sessions whose home is here.
    var tableSizes: (messages: Int, waitingSessions: Int, sessions: Int) { get }

    // MARK: - Stopping

    /// Hands this node's tasks for others to them, because the broker is about to stop.
    func resign()

    /// Removes the node from the cluster.
    func leaveCluster()

    /// Whether nothing of the node is left in the cluster.
    var hasLeft: Bool { get }

    /// Ends the connections, with the shard.
    func shutDown()
}

/// Decides about the subscriptions of a shard's channels.
package protocol SharedChannelHome: AnyObject {
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
}
