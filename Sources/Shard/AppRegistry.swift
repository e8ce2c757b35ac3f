package import Broker
import Primitives
import PusherProtocol

/// The apps that are served, with the connection count of each.
///
/// A reload replaces it on every shard.
///
/// An immutable object, so that passing it on copies one reference.
package final class AppRegistry: Sendable {
    /// Counts the replacements: of two concurrent ones the later wins.
    package let generation: Int
    /// The apps, by identifier and by key.
    package let apps: Apps
    /// The connection quota of each app, and of removed apps that still have connections.
    package let quotas: [AppID: ConnectionQuota]
    /// Whether any app sends subscription counts.
    ///
    /// If not, subscriptions need no lookup of their app.
    let announcesCounts: Bool
    /// Whether any app has channels that keep their messages before a client tracks them.
    ///
    /// If not, events need no lookup of their app.
    let keepsMessagesAlways: Bool
    /// Whether any app has channels whose new clients get earlier messages.
    ///
    /// If not, subscriptions without a position need no lookup of their app.
    let replaysOpenings: Bool
    /// What the webhook endpoints of each app receive; only of enabled apps that have any.
    package let webhooks: [AppID: [WebhookFilter]]
    /// Whether any app has limits that all nodes of a cluster share.
    package let hasSharedLimits: Bool
    /// The fingerprint of the apps, which nodes with the same ones share.
    package let fingerprint: String
    /// Whether every app is the one for development, whose credentials are public.
    package let isDevelopment: Bool
    /// The app of the console's page, which is in no configuration; `nil` without a console.
    package let consoleApp: App?
    private let entries: [AppID: Entry]

    /// An app and its configuration.
    private struct Entry: Sendable {
        let configuration: AppConfiguration
        let app: App
    }

    /// Creates the first registry; the identifiers and keys of the apps differ.
    ///
    /// - Parameters:
    ///   - configurations: The apps.
    ///   - fingerprint: Their fingerprint.
    ///   - consoleApp: The app of the console's page, if there is a console.
    package convenience init(
        _ configurations: [AppConfiguration],
        fingerprint: String,
        consoleApp: App?
    ) {
        self.init(configurations, fingerprint, succeeding: nil, consoleApp: consoleApp)
    }

    /// Returns the registry that replaces this one.
    ///
    /// An app whose configuration is unchanged keeps its object and the state of its rates. Each app keeps its
    /// connection count; a lower limit closes no connection.
    package func succeeded(
        by configurations: [AppConfiguration],
        fingerprint: String
    ) -> AppRegistry {
        AppRegistry(configurations, fingerprint, succeeding: self, consoleApp: consoleApp)
    }

    private init(
        _ configurations: [AppConfiguration],
        _ fingerprint: String,
        succeeding old: AppRegistry?,
        consoleApp: App?
    ) {
        self.consoleApp = consoleApp
        isDevelopment = configurations.areForDevelopment
        var entries: [AppID: Entry] = [:]
        var quotas = old?.quotas.filter { !$0.value.isUnused } ?? [:]
        for configuration in configurations {
            let id = AppID(configuration.id)
            let limit = configuration.limits.connectionsMax ?? .max
            let quota = old?.quotas[id] ?? ConnectionQuota(limit: limit)
            quota.resize(to: limit)
            quotas[id] = quota
            let entry = old?.entries[id].flatMap {
                $0.configuration == configuration ? $0 : nil
            }
            entries[id] =
                entry
                ?? Entry(configuration: configuration, app: App(configuration, quota: quota))
        }
        generation = (old?.generation ?? 0) + 1
        apps = Apps(entries.values.map(\.app) + [consoleApp].compactMap(\.self))
        self.quotas = quotas
        announcesCounts = entries.values.contains { $0.app.features.subscriptionCount }
        keepsMessagesAlways = entries.values.contains { $0.app.recovery.keepsAlways }
        replaysOpenings = entries.values.contains { $0.app.recovery.replaysOpenings }
        webhooks = entries.compactMapValues { $0.configuration.webhookFilters }
        hasSharedLimits = entries.values.contains {
            $0.app.limits.connectionsMax != nil || $0.app.requests.isLimited
        }
        self.fingerprint = fingerprint
        self.entries = entries
    }

    /// The identifiers of all configured apps.
    package var ids: some Sequence<AppID> { entries.keys }

    /// The identifiers of the apps whose events are observed: the configured ones, and the console's.
    var observedIDs: [AppID] { Array(entries.keys) + [consoleApp?.id].compactMap(\.self) }

    /// Whether an app is in the configuration, as the console's is not.
    package func isConfigured(_ app: App) -> Bool { entries[app.id] != nil }

    /// The maximum number of an app's connections; `nil` for no limit.
    package func connectionsMax(of app: AppID) -> Int? { entries[app]?.app.limits.connectionsMax }

    /// The configurations of the apps.
    package var configurations: [AppConfiguration] { entries.values.map(\.configuration) }

    // MARK: - For the log

    /// Whether a text is the secret of an app.
    package func isSecret(_ text: String) -> Bool {
        entries.values.contains { entry in
            entry.configuration.allCredentials.contains {
                $0.secret.utf8.elementsEqual(text.utf8)
            }
        }
    }

    /// Replaces the secrets of an app in a text that a peer may have had a part in.
    package func removingSecrets(from text: String, of app: AppID?) -> String {
        guard let credentials = app.flatMap({ entries[$0] })?.configuration.allCredentials else {
            return text
        }
        return credentials.reduce(text) { $0.replacing(bytesOf: $1.secret, with: "(secret)") }
    }

    /// The differences from an earlier registry.
    package func changes(since old: AppRegistry) -> AppChanges {
        var changes = AppChanges()
        for (id, entry) in entries {
            guard let before = old.entries[id]?.app else {
                changes.added.append(id.text)
                continue
            }
            if before !== entry.app { changes.changed.append(id.text) }
        }
        changes.removed = old.entries.keys.filter { entries[$0] == nil }.map(\.text)
        changes.sort()
        return changes
    }
}

/// The apps that a reload has changed, by identifier.
public struct AppChanges: Sendable, Equatable {
    /// The new apps.
    public var added: [String] = []
    /// The apps whose configuration differs.
    public var changed: [String] = []
    /// The removed apps.
    public var removed: [String] = []

    /// Creates an empty set of changes.
    public init() {}

    fileprivate mutating func sort() {
        added.sort()
        changed.sort()
        removed.sort()
    }
}

extension AppConfiguration {
    /// What the webhook endpoints receive; `nil` without endpoints, or when the app is disabled.
    fileprivate var webhookFilters: [WebhookFilter]? {
        guard isEnabled, !webhooks.isEmpty else { return nil }
        return webhooks.map {
            WebhookFilter(
                kinds: Set($0.events),
                channelPrefix: $0.channelPrefix,
                channelSuffix: $0.channelSuffix
            )
        }
    }
}

extension App {
    /// The app that the configuration describes.
    convenience init(_ configuration: AppConfiguration, quota: ConnectionQuota) {
        self.init(
            id: AppID(configuration.id),
            credentials: Credentials(configuration.allCredentials),
            isEnabled: configuration.isEnabled,
            isTLSOnly: configuration.isTLSOnly,
            allowedOrigins: configuration.allowedOrigins.compactMap(OriginPattern.init),
            features: configuration.features,
            limits: configuration.limits,
            recovery: configuration.recoverySettings,
            quota: quota
        )
    }
}
