import RESP
import Redis
import Shard

/// Does what follows from a store's connection, replies and messages.
protocol ClusterStoreDelegate: AnyObject {
    /// The settings of the next connection to a store.
    func connectionSettings(of store: ClusterStore) -> RedisSettings

    /// The key of the counter of a partition.
    func counter(of partition: Int) -> RedisKey

    // MARK: - The connection

    /// Called when there is a connection; calls are possible after ``ClusterStore/begin(at:)``.
    func connected(_ store: ClusterStore, to server: RedisServer)

    /// Called when the connection is lost; Redis may have executed the unanswered calls, in their order.
    ///
    /// The primary has executed the messages that are not confirmed, before them.
    func lost(
        _ store: ClusterStore,
        _ fault: RedisFault,
        unconfirmed: [OutgoingMessage],
        _ unanswered: [any StoreCall]
    )

    /// Called when nothing of a store's partitions is received any more, and other nodes may take over this node's
    /// tasks.
    func cutOff(_ store: ClusterStore)

    /// Continues everything that waits for a store that is open, or for the partition of it that has moved there.
    func resume(_ store: ClusterStore, partition: Int?)

    /// Called with the reply to a call.
    func received(
        _ reply: borrowing RESPView,
        to answered: ClusterStore.Unanswered,
        from store: ClusterStore
    )

    /// Called when the server refuses a subscription to a pub/sub channel, or its end.
    func subscriptionRefused(_ error: RedisError, by store: ClusterStore)

    /// Called when the server accepts subscriptions that it has refused before.
    func acceptsSubscriptions(_ store: ClusterStore)

    /// Called when the server has ended the subscription to a pub/sub channel.
    func subscriptionEnded(to topic: String, at store: ClusterStore)

    /// Called with a published message.
    func received(_ message: borrowing RESPView, at topic: String)

    // MARK: - Messages

    /// Reports that a message is published.
    func finish(_ message: OutgoingMessage, _ outcome: PublishOutcome)

    /// Reports that a message is not published, or that its outcome is unknown.
    func refuse(_ message: OutgoingMessage, _ refusal: ClusterRefusal)

    /// Records in all partitions of a store how publishes are acknowledged, and returns the number of unanswered calls
    /// that do it.
    func announceAcknowledgement(of store: ClusterStore) -> Int

    // MARK: - Time

    /// Called when the next portion of the store's partitions gets its heartbeats.
    func heartbeatIsDue(in store: ClusterStore)

    /// Called when the next channels are compared with Redis.
    func comparisonIsDue(in store: ClusterStore)

    /// Called when nothing waits any more for a store that was lost; its messages are refused afterwards.
    func refuseQueries()

    /// Called when a store was lost for so long that its clients are closed.
    func closeClaimants(of store: ClusterStore)

    /// Closes the clients with channels in a partition.
    func closeClients(in partition: Int)
}
