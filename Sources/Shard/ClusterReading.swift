import Primitives

/// The counts of a shard about its cluster.
package struct ClusterCounts: Sendable {
    /// The ends of connections, by reason.
    package var faults: [String: Int] = [:]
    /// Messages that were read after a loss of the connection.
    package var caughtUp = 0
    /// Channels whose subscribers were notified of a gap, or closed.
    package var gaps = 0
    /// Ended nodes, one count per partition, whose data this shard has removed, and members that were removed with
    /// them.
    package var (reapedNodes, reapedMembers) = (0, 0)
    /// Channels whose position was not that of Redis although nothing was missed; must stay 0.
    package var divergences = 0
    /// Partitions that have moved to another server of a Redis Cluster.
    package var movedPartitions = 0
    /// Webhooks that were dropped from full queues of partitions that this shard leads.
    package var droppedWebhooks = 0
    /// Replies and messages of Redis that were refused, because of their form or a number outside its range.
    package var refusals = 0
    /// Positions of channels without subscribers that Redis has dropped because of the limit.
    package var forgottenPositions = 0

    package init() {}

    private static var numbers: [WritableKeyPath<ClusterCounts, Int>] {
        [
            \.caughtUp, \.gaps, \.divergences, \.reapedNodes, \.reapedMembers, \.movedPartitions,
            \.droppedWebhooks, \.refusals, \.forgottenPositions,
        ]
    }

    /// Adds a number that Redis has reported; the count is capped at 2^53 − 1.
    package mutating func add(_ number: Int, to count: WritableKeyPath<ClusterCounts, Int>) {
        self[keyPath: count] = min(self[keyPath: count] + number, Int(SafeInteger.max))
    }

    /// Adds the counts of another shard.
    mutating func add(_ other: ClusterCounts) {
        faults.merge(other.faults) { $0 + $1 }
        for count in Self.numbers { self[keyPath: count] += other[keyPath: count] }
    }
}

/// The gauges of a shard's part in a cluster, and its counters since the start.
package struct ClusterReading: Sendable {
    /// Connections to Redis that are open.
    package var connections = 0
    /// Channels to which the node is attached.
    package var attachedChannels = 0
    /// Bytes of messages that wait for Redis, or for its answers.
    package var waitingBytes = 0
    /// The longest of the last round trips, in microseconds.
    package var roundTripMicroseconds = 0
    /// Partitions that the node leads.
    package var leaderships = 0
    /// Webhooks that wait in their queues, as of a second ago.
    package var waitingWebhooks = 0
    package var counts = ClusterCounts()

    package init() {}

    mutating func add(_ other: ClusterReading) {
        connections += other.connections
        attachedChannels += other.attachedChannels
        waitingBytes += other.waitingBytes
        roundTripMicroseconds = max(roundTripMicroseconds, other.roundTripMicroseconds)
        leaderships += other.leaderships
        waitingWebhooks += other.waitingWebhooks
        counts.add(other.counts)
    }
}
