package import Broker

/// A shard's part in a cluster, whose nodes share channels, users and sessions.
///
/// The shard keeps its connections and the fan-out to them. The order of the messages, the members and the counts are
/// those of all nodes. Confined to the shard's thread.
package protocol SharedHome: AnyObject {
    /// Decides about the channels.
    var channelAuthority: any ChannelAuthority { get }

    /// Decides about the users.
    var userAuthority: any UserAuthority { get }

    /// Decides about the sessions.
    var sessionAuthority: any SessionAuthority { get }

    // MARK: - The turn

    /// Connects for the first time.
    func connect()

    /// Whether there is work that is done in portions, one each turn.
    var hasWork: Bool { get }

    /// Does a portion of it.
    func advance()

    /// Called when a webhook of a queue is completed.
    func settle(_ id: QueuedEvent.ID, isDelivered: Bool)

    /// The gauges and counters.
    var reading: ClusterReading { get }

    /// The number of sessions that wait, and of sessions whose home is here.
    var sessionCounts: (waiting: Int, atHome: Int) { get }

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
