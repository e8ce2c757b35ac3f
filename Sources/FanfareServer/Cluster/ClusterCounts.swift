import Primitives
import Redis

/// What a shard counts of its cluster.
struct ClusterCounts: Sendable {
    /// The ends of connections, by reason.
    var faults: [String: Int] = [:]
    /// Messages that were read behind a loss of the connection.
    var caughtUp = 0
    /// Channels whose subscribers were told of a gap, or closed.
    var gaps = 0
    /// Nodes in one partition each whose remains this shard has removed, and members that were gone with them.
    var (reapedNodes, reapedMembers) = (0, 0)
    /// Channels whose position was not that of Redis though nothing was missed; must stay 0.
    var divergences = 0
    /// Partitions that have moved to another server of a Redis Cluster.
    var movedPartitions = 0
    /// Webhooks that were dropped from the queues of partitions that this shard leads, since they were full.
    var droppedWebhooks = 0
    /// Replies and messages of Redis that were refused: of another form, or with a number outside its range.
    var refusals = 0
    /// Positions of channels without subscribers that Redis has forgotten for the limit.
    var forgottenPositions = 0

    private static var numbers: [WritableKeyPath<ClusterCounts, Int>] {
        [
            \.caughtUp, \.gaps, \.divergences, \.reapedNodes, \.reapedMembers, \.movedPartitions,
            \.droppedWebhooks, \.refusals, \.forgottenPositions,
        ]
    }

    /// Adds a number that Redis names; the count ends at 2^53 − 1.
    mutating func add(_ number: Int, to count: WritableKeyPath<ClusterCounts, Int>) {
        self[keyPath: count] = min(self[keyPath: count] + number, Int(SafeInteger.max))
    }

    /// Replaces each count by a later one.
    ///
    /// Concurrent readers may overtake each other: no count decreases.
    mutating func advance(to later: ClusterCounts) {
        faults.merge(later.faults) { max($0, $1) }
        for count in Self.numbers {
            self[keyPath: count] = max(self[keyPath: count], later[keyPath: count])
        }
    }

    /// Adds the counts of another shard.
    mutating func add(_ other: ClusterCounts) {
        faults.merge(other.faults) { $0 + $1 }
        for count in Self.numbers { self[keyPath: count] += other[keyPath: count] }
    }
}

/// The gauges of a shard's part in a cluster, and its counters since the start.
struct ClusterReading: Sendable {
    /// Connections to Redis that are open.
    var connections = 0
    /// Channels to which the node is attached.
    var attachedChannels = 0
    /// Bytes of messages that wait for Redis, or for its answers.
    var waitingBytes = 0
    /// The longest of the last round trips, in microseconds.
    var roundTripMicroseconds = 0
    /// Partitions that the node leads.
    var leaderships = 0
    /// Webhooks that wait in their queues, as of a second ago.
    var waitingWebhooks = 0
    var counts = ClusterCounts()

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
