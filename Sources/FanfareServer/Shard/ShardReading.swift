import Broker
import Net

/// The gauges of one shard, and its counters since the start.
package struct ShardReading: Sendable {
    /// Clients.
    var connections = 0
    /// Connections that are in their handshake, or carry only HTTP.
    var handshakes = 0
    /// Occupied channels whose home is the shard.
    var channels = 0
    /// Bytes queued for readers whose socket buffers are full.
    var queuedBytes = 0
    /// Bytes that were received and are not processed yet.
    var inboundBytes = 0
    /// Messages received from clients.
    var received = 0
    /// Events of backends and clients on channels whose home is the shard.
    var published = 0
    /// Frames for one subscriber each; an event for a thousand subscribers counts as a thousand.
    var delivered = 0
    /// Subscriptions that wait for the replays of others.
    var waitingResumes = 0
    /// Subscriptions that track their positions, and messages dropped before they expired.
    var recovery = RecoveryCounts()
    /// Bytes of messages kept in memory for clients that reconnect.
    var keptBytes = 0
    /// How long the messages of each app are kept, in seconds.
    var windows: [AppID: Int] = [:]
    /// The shard's part in a cluster; `nil` for a standalone broker.
    var cluster: ClusterReading?

    /// Adds the reading of another shard.
    mutating func add(_ other: ShardReading) {
        connections += other.connections
        handshakes += other.handshakes
        channels += other.channels
        queuedBytes += other.queuedBytes
        inboundBytes += other.inboundBytes
        received += other.received
        published += other.published
        delivered += other.delivered
        waitingResumes += other.waitingResumes
        recovery.add(other.recovery)
        keptBytes += other.keptBytes
        if let added = other.cluster {
            cluster = cluster ?? ClusterReading()
            cluster?.add(added)
        }
        windows.merge(other.windows) { min($0, $1) }
    }
}

extension ShardCore {
    /// The gauges and counters of the shard.
    package var reading: ShardReading {
        ShardReading(
            connections: connections.count,
            channels: channels.table.occupiedCount,
            queuedBytes: context.reactor.queueBudget.byteCount,
            inboundBytes: context.reactor.inbound.byteCount,
            received: context.receivedCount,
            published: context.publishedCount,
            delivered: context.deliveredCount,
            waitingResumes: channels.throttle.waitingCount,
            recovery: channels.state.streams.counts,
            keptBytes: channels.state.streams.byteCount,
            windows: channels.recoveryWindows,
            cluster: cluster?.reading
        )
    }
}
