package import Archive
package import Broker
package import BrokerConfiguration
import Net
package import PusherProtocol
package import Shard

/// How much of each limit is used, of those that count something that stays for a while.
package struct LimitUsage {
    /// What is used of one limit.
    package struct Use: Equatable {
        /// The app, of a limit for each app.
        package var app: AppID?
        package var used: Int
        /// The most that there can be; `nil` for no limit.
        package var max: Int?
    }

    /// An app, and what its clients and backends have taken.
    struct OfApp {
        let app: App
        let used: ShardUsage.OfApp
        let connectionCount: Int

        var limits: AppLimits { app.limits }
        var recovery: RecoverySettings { app.recovery }
    }

    let usage: ShardUsage
    let connectionCount: Int
    let webhookCount: Int
    /// What the archive has; `nil` without one.
    let archive: Archive.Reading?
    let registry: AppRegistry
    let settings: ServerSettings
    let configuration: Configuration

    package init(
        usage: ShardUsage,
        connectionCount: Int,
        webhookCount: Int,
        archive: Archive.Reading?,
        registry: AppRegistry,
        settings: ServerSettings,
        configuration: Configuration
    ) {
        self.usage = usage
        self.connectionCount = connectionCount
        self.webhookCount = webhookCount
        self.archive = archive
        self.registry = registry
        self.settings = settings
        self.configuration = configuration
    }

    /// Returns what is used: of a limit for each app a value for each app, of others one, and none where nothing is counted.
    package func uses(of limit: Limit) -> [Use] {
        switch limit.rule.usage {
        case .uncounted: []
        case .ofAll(let amount): amount(self).map { [Use(used: $0.used, max: $0.max)] } ?? []
        case .ofApp(let amount):
            apps.map { app in
                let (used, max) = amount(app)
                return Use(app: app.app.id, used: used, max: max)
            }
        }
    }

    private var apps: [OfApp] {
        registry.apps.all.filter { registry.isConfigured($0) }
            .sorted { $0.id.text < $1.id.text }
            .map {
                OfApp(
                    app: $0,
                    used: usage.apps[$0.id] ?? ShardUsage.OfApp(),
                    connectionCount: registry.quotas[$0.id]?.takenCount ?? 0
                )
            }
    }
}
