package import Broker
package import PusherProtocol

/// Decides about the channels whose home is a shard: about everything on a channel, in one order.
///
/// The shard proposes what its connections, backends and the other shards want, and performs the decisions: it sends
/// messages to subscribers, grants and refusals to connections, and outcomes to publishers
/// (``Outcomes/settle(_:_:at:)``). A decision is made at once or later, and never performed twice. Confined to the
/// shard's thread.
package protocol ChannelAuthority: AnyObject {
    /// Decides on an event.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - channel: The channel; `nil` if it has no subscribers.
    ///   - address: Its address.
    ///   - publisher: Makes the publisher, and so its request wait; called once if the outcome follows later, else never.
    /// - Returns: The outcome, if it is known at once; otherwise the publisher gets it later.
    func publish(
        _ event: ProposedEvent,
        on channel: Channel?,
        at address: ChannelAddress,
        by publisher: () -> Proposal.Publisher
    ) -> PendingTrigger.Outcome?

    /// Decides on a subscription; the position is that of a client that tracks the channel.
    func subscribe(
        _ request: SubscriptionRequest,
        to address: ChannelAddress,
        as member: Member?,
        from position: PositionRequest?
    )

    /// Ends a connection's subscription, or drops the one that waits; the channel is `nil` if it has no subscribers.
    func unsubscribe(
        _ id: SocketID,
        of shard: Int,
        from channel: Channel?,
        at address: ChannelAddress
    )

    /// Answers a query.
    func answer(_ query: ShardQuery, _ finish: @escaping (HomeAnswer) -> Void)

    /// Lists occupied channels, and returns the number of channels that were read now.
    @discardableResult
    func list(_ range: ChannelRange, _ finish: @escaping (ChannelPortion) -> Void) -> Int

    /// Called after the apps were replaced; `former` are the apps served before.
    func appsWereReplaced(_ former: AppRegistry)

    /// Sends what was proposed in this turn to who stores or orders it; returns whether sockets have to be written.
    @discardableResult
    func dispatch() -> Bool

    /// The sizes of the tables of what waits for a decision, by name.
    var tableSizes: [(table: String, count: Int)] { get }

    /// Drops what waits, when the shard has stopped.
    func dropPending()
}
