import Archive
import Broker
import BrokerConfiguration
import Net
import PusherProtocol

/// How much of each limit is used, of those that count something that stays for a while.
struct LimitUsage {
    /// What is used of one limit.
    struct Use: Equatable {
        /// The app, of a limit for each app.
        var app: AppID?
        var used: Int
        /// The most that there can be; `nil` for no limit.
        var max: Int?
    }

    let usage: ShardUsage
    let connectionCount: Int
    let webhookCount: Int
    /// What the archive has; `nil` without one.
    let archive: Archive.Reading?
    let registry: AppRegistry
    let settings: ServerSettings
    let configuration: Configuration

    private var shardCount: Int { settings.shardCount }

    /// Returns what is used: of a limit for each app a value for each app, of others one, and none where nothing is counted.
    func uses(of limit: Limit) -> [Use] {
        switch limit {
        case .connections:
            [
                Use(
                    used: connectionCount,
                    max: configuration.connectionsMax ?? DescriptorLimit.current
                )
            ]
        case .handshakes:
            [Use(used: usage.handshakes, max: configuration.admission.handshakesMax)]
        case .queuedBytesTotal:
            [Use(used: usage.queuedBytes, max: settings.heldBytesMax * shardCount)]
        case .inboundBytes:
            [Use(used: usage.inboundBytes, max: settings.inboundBytesMax * shardCount)]
        case .retainedBytesTotal:
            [Use(used: usage.retainedBytes, max: settings.retainedBytesMax)]
        case .webhooksQueued:
            [Use(used: webhookCount, max: configuration.webhooks.queuedMax)]
        case .unstoredBytes:
            archive.map { [Use(used: $0.unstoredBytes, max: settings.unstoredBytesMax)] } ?? []
        case .archiveReadBytes:
            archive.map { [Use(used: $0.readBytes, max: settings.archiveReadBytesMax)] } ?? []
        case .databaseBytes:
            archive.map {
                [Use(used: $0.fileBytes, max: configuration.recovery.databaseBytesMax)]
            } ?? []
        default: usesByApp(of: limit)
        }
    }

    private func usesByApp(of limit: Limit) -> [Use] {
        registry.apps.all.filter { registry.isConfigured($0) }
            .sorted { $0.id.text < $1.id.text }
            .compactMap { app in
                let used = usage.apps[app.id] ?? ShardUsage.OfApp()
                let (count, most): (Int, Int?)
                switch limit {
                case .appConnections:
                    (count, most) = (
                        registry.quotas[app.id]?.takenCount ?? 0,
                        registry.connectionsMax(of: app.id)
                    )
                case .appQueuedBytes: (count, most) = (used.queuedBytes, app.limits.queuedBytesMax)
                case .appRetainedBytes:
                    (count, most) = (used.retainedBytes, app.recovery.retainedBytesMax)
                case .cachedEvents: (count, most) = (used.cachedEvents, app.limits.cachedEventsMax)
                case .idempotencyKeys:
                    (count, most) = (used.idempotencyKeys, app.limits.idempotencyKeysMax)
                case .recoverySessions: (count, most) = (used.sessions, app.recovery.sessionsMax)
                case .openedStreams:
                    (count, most) = (used.openedStreams, app.recovery.openedStreamsMax)
                case .sessionBytes:
                    (count, most) = (used.sessionBytes, app.recovery.sessionBytesMax)
                case .recoveryPositions:
                    (count, most) = (used.vacantPositions, app.recovery.positionsMax)
                default: return nil
                }
                return Use(app: app.id, used: count, max: most)
            }
    }
}
