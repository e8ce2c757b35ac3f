package import Broker
import Net

/// What peers have taken of the limits of one shard, as far as it is a number that grows and shrinks.
package struct ShardUsage: Sendable {
    /// What the clients and backends of an app have taken.
    package struct OfApp: Sendable {
        package var queuedBytes = 0
        package var retainedBytes = 0
        package var cachedEvents = 0
        package var idempotencyKeys = 0
        package var sessions = 0
        /// Channels without subscribers whose positions are kept.
        package var vacantPositions = 0
        /// Public channels with subscribers and a stream on which nothing was published.
        package var openedStreams = 0
        package var sessionBytes = 0

        package init() {}

        mutating func add(_ other: Self) {
            queuedBytes += other.queuedBytes
            retainedBytes += other.retainedBytes
            cachedEvents += other.cachedEvents
            idempotencyKeys += other.idempotencyKeys
            sessions += other.sessions
            vacantPositions += other.vacantPositions
            openedStreams += other.openedStreams
            sessionBytes += other.sessionBytes
        }
    }

    /// Connections in their handshake, or of HTTP alone.
    package var handshakes = 0
    package var queuedBytes = 0
    package var inboundBytes = 0
    package var retainedBytes = 0
    package var apps: [AppID: OfApp] = [:]

    package init() {}

    /// Adds the usage of another shard.
    package mutating func add(_ other: Self) {
        handshakes += other.handshakes
        queuedBytes += other.queuedBytes
        inboundBytes += other.inboundBytes
        retainedBytes += other.retainedBytes
        for (app, usage) in other.apps { apps[app, default: OfApp()].add(usage) }
    }
}

extension ShardCore {
    /// What is used of the limits of this shard.
    package var usage: ShardUsage {
        var usage = ShardUsage()
        usage.queuedBytes = context.reactor.queueBudget.byteCount
        usage.inboundBytes = context.reactor.inbound.byteCount
        usage.retainedBytes = channels.state.streams.byteCount
        for app in context.registry.ids {
            let streams = channels.state.streams.usage(of: app)
            var used = ShardUsage.OfApp()
            used.queuedBytes = connections.queuedByteCount(of: app)
            used.retainedBytes = streams.byteCount
            used.cachedEvents = channels.state.cachedEventCount(of: app)
            used.idempotencyKeys = channels.state.keyCount(of: app)
            used.sessions = sessions.local.home.count(of: app)
            used.vacantPositions = streams.vacantCount
            used.openedStreams = streams.openedCount
            used.sessionBytes = sessions.local.home.byteCount(of: app)
            usage.apps[app] = used
        }
        return usage
    }
}
