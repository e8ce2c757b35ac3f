package import Broker
import PusherProtocol
import Webhooks

/// The apps that are served, with the connections that each has: what a reload replaces on every shard.
///
/// One object for all who look, so that it is handed on as a single reference.
package final class AppRegistry: Sendable {
    /// Counts the replacements, so that of two under way the later one stays.
    let generation: Int
    /// The apps, by identifier and by key.
    let apps: Apps
    /// The connections of each app, and of those that were served earlier and have some left.
    package let quotas: [AppID: ConnectionQuota]
    /// Whether the subscribers of any app are told how many they are: spares the others a look at their app.
    let announcesCounts: Bool
    private let origins: [AppID: Origin]

    /// An app and what it was made from.
    private struct Origin: Sendable {
        let configuration: AppConfiguration
        let app: App
    }

    /// Makes the first registry, whose identifiers and keys differ.
    package convenience init(_ configurations: [AppConfiguration]) {
        self.init(configurations, succeeding: nil)
    }

    /// Makes the registry that succeed these.
    ///
    /// An app that is configured as before keeps its object, and what is left of its rates with it. Each keeps its
    /// count of connections, and closes none when its limit is lower now.
    package func succeeded(by configurations: [AppConfiguration]) -> AppRegistry {
        AppRegistry(configurations, succeeding: self)
    }

    private init(_ configurations: [AppConfiguration], succeeding old: AppRegistry?) {
        var origins: [AppID: Origin] = [:]
        var quotas = old?.quotas.filter { !$0.value.isUnused } ?? [:]
        for configuration in configurations {
            let id = AppID(configuration.id)
            let limit = configuration.connectionsMax ?? .max
            let quota = old?.quotas[id] ?? ConnectionQuota(limit: limit)
            quota.resize(to: limit)
            quotas[id] = quota
            let origin = old?.origins[id].flatMap {
                $0.configuration == configuration ? $0 : nil
            }
            origins[id] =
                origin
                ?? Origin(configuration: configuration, app: App(configuration, quota: quota))
        }
        generation = (old?.generation ?? 0) + 1
        apps = Apps(origins.values.map(\.app))
        self.quotas = quotas
        announcesCounts = origins.values.contains { $0.app.features.subscriptionCount }
        self.origins = origins
    }

    /// The identifiers of all apps.
    var ids: some Sequence<AppID> { origins.keys }

    /// The apps that have webhooks.
    var webhookApps: [WebhookApp] { origins.values.compactMap { WebhookApp($0.configuration) } }

    /// How these registry differ from those before them.
    func changes(since old: AppRegistry) -> AppChanges {
        var changes = AppChanges()
        for (id, origin) in origins {
            guard let before = old.origins[id]?.app else {
                changes.added.append(id.text)
                continue
            }
            if before !== origin.app { changes.changed.append(id.text) }
        }
        changes.removed = old.origins.keys.filter { origins[$0] == nil }.map(\.text)
        changes.sort()
        return changes
    }
}

/// The apps that a reload has touched, by identifier.
public struct AppChanges: Sendable, Equatable {
    /// Those that were not there before.
    public var added: [String] = []
    /// Those that are configured otherwise than before.
    public var changed: [String] = []
    /// Those that are not there any more.
    public var removed: [String] = []

    /// Says that nothing has changed.
    public init() {}

    fileprivate mutating func sort() {
        added.sort()
        changed.sort()
        removed.sort()
    }
}

extension App {
    /// The app that the configuration describes.
    convenience init(_ configuration: AppConfiguration, quota: ConnectionQuota) {
        var texts = ProtocolLimits()
        texts.dataLengthMax = configuration.eventDataLengthMax
        texts.channelNameLengthMax = configuration.channelNameLengthMax
        texts.channelsPerTriggerMax = configuration.triggerChannelsMax
        texts.eventsPerBatchMax = configuration.batchEventsMax
        self.init(
            id: AppID(configuration.id),
            credentials: Credentials(configuration.allCredentials),
            isEnabled: configuration.isEnabled,
            isTLSOnly: configuration.isTLSOnly,
            allowedOrigins: configuration.allowedOrigins.compactMap(OriginPattern.init),
            features: AppFeatures(configuration),
            limits: AppLimits(
                texts: texts,
                subscriptionsMax: configuration.subscriptionsMax,
                membersMax: configuration.membersMax,
                userInfoLengthMax: configuration.userInfoLengthMax,
                watchlistMax: configuration.watchlistMax,
                cachedEventsMax: configuration.cachedEventsMax,
                queuedBytesMax: configuration.queuedBytesMax,
                clientEventRate: Rate(perSecond: configuration.clientEventsPerSecondMax),
                subscriptionRate: configuration.subscriptionsPerSecondMax.map(Rate.init),
                requestRates: RequestRates(
                    all: configuration.requestsPerSecondMax.map(Rate.init),
                    triggers: configuration.triggersPerSecondMax.map(Rate.init),
                    queries: configuration.queriesPerSecondMax.map(Rate.init),
                    terminations: configuration.terminationsPerSecondMax.map(Rate.init)
                ),
                faultsPerMinuteMax: configuration.faultyMessagesPerMinuteMax
            ),
            quota: quota
        )
    }
}

extension AppFeatures {
    fileprivate init(_ configuration: AppConfiguration) {
        let features = configuration.features
        self.init(
            clientEvents: features.clientEvents,
            subscriptionCount: features.subscriptionCount,
            users: features.users,
            watchlist: features.watchlist,
            authorizationTimeout: features.authorizedConnections
                ? features.authorizationTimeout : nil,
            cacheLifetime: configuration.cacheLifetime,
            presenceNoticeDelay: configuration.presenceNoticeDelay
        )
    }
}
