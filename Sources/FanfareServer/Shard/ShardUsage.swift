import Broker
import Net

/// What peers have taken of the limits of one shard, as far as it is a number that grows and shrinks.
struct ShardUsage: Sendable {
    /// What the clients and backends of an app have taken.
    struct OfApp: Sendable {
        var queuedBytes = 0
        var retainedBytes = 0
        var cachedEvents = 0
        var idempotencyKeys = 0
        var sessions = 0
        /// Channels without subscribers whose positions are kept.
        var vacantPositions = 0
        /// Public channels with subscribers and a stream on which nothing was published.
        var openedStreams = 0
        var sessionBytes = 0

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
    var handshakes = 0
    var queuedBytes = 0
    var inboundBytes = 0
    var retainedBytes = 0
    var apps: [AppID: OfApp] = [:]

    /// Adds the usage of another shard.
    mutating func add(_ other: Self) {
        handshakes += other.handshakes
        queuedBytes += other.queuedBytes
        inboundBytes += other.inboundBytes
        retainedBytes += other.retainedBytes
        for (app, usage) in other.apps { apps[app, default: OfApp()].add(usage) }
    }
}

extension ShardCore {
    /// What is used of the limits of this shard.
    var usage: ShardUsage {
        var usage = ShardUsage()
        usage.queuedBytes = context.reactor.queueBudget.byteCount
        usage.inboundBytes = context.reactor.inbound.byteCount
        usage.retainedBytes = channels.state.streams.byteCount
        for app in context.registry.ids {
            let streams = channels.state.streams.usage(of: app)
            usage.apps[app] = ShardUsage.OfApp(
                queuedBytes: connections.queuedByteCount(of: app),
                retainedBytes: streams.byteCount,
                cachedEvents: channels.state.cachedEventCount(of: app),
                idempotencyKeys: channels.state.keyCount(of: app),
                sessions: sessions.home.count(of: app),
                vacantPositions: streams.vacantCount,
                openedStreams: streams.openedCount,
                sessionBytes: sessions.home.byteCount(of: app)
            )
        }
        return usage
    }
}
