package import Broker
import Net

/// The gauges of one shard, and its counters since the start.
package struct ShardReading: Sendable {
    /// Clients.
    package var connections = 0
    /// Connections that are in their handshake, or carry only HTTP.
    package var handshakes = 0
    /// Occupied channels whose home is the shard.
    package var channels = 0
    /// Bytes queued for readers whose socket buffers are full.
    package var queuedBytes = 0
    /// Bytes that were received and are not processed yet.
    package var inboundBytes = 0
    /// Messages received from clients.
    package var received = 0
    /// Events of backends and clients on channels whose home is the shard.
    package var published = 0
    /// Frames for one subscriber each; an event for a thousand subscribers counts as a thousand.
    package var delivered = 0
    /// Subscriptions that wait for the replays of others.
    package var waitingResumes = 0
    /// Subscriptions that track their positions, and messages dropped before they expired.
    package var recovery = RecoveryCounts()
    /// Bytes of messages kept in memory for clients that reconnect.
    package var keptBytes = 0
    /// How long the messages of each app are kept, in seconds.
    package var windows: [AppID: Int] = [:]
    /// The shard's part in a cluster; `nil` for a standalone broker.
    package var cluster: ClusterReading?

    package init() {}

    /// Adds the reading of another shard.
    package mutating func add(_ other: ShardReading) {
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
        var reading = ShardReading()
        reading.connections = connections.count
        reading.channels = channels.table.occupiedCount
        reading.queuedBytes = context.reactor.queueBudget.byteCount
        reading.inboundBytes = context.reactor.inbound.byteCount
        reading.received = context.receivedCount
        reading.published = context.publishedCount
        reading.delivered = context.deliveredCount
        reading.waitingResumes = channels.throttle.waitingCount
        reading.recovery = channels.state.streams.counts
        reading.keptBytes = channels.state.streams.byteCount
        for app in context.registry.ids {
            reading.windows[app] = channels.state.streams.window(of: app, at: context.milliseconds)
        }
        reading.cluster = cluster?.reading
        return reading
    }
}
