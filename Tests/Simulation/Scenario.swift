import Broker
import BrokerConfiguration
import Net
import Shard
import WebSocket

/// The configuration of a simulated app, as the reference model has it.
struct Rules {
    var isEnabled = true
    var subscriptionsMax = 5
    var membersMax = 2
    var connectionsMax = 7
    var clientEvents = true
    var countsAreTold = true
    /// How long a member whose last connection has left stays a member, in seconds.
    var presenceGrace = 0
    /// The seconds within which a connection must be authorized; `nil` for no deadline.
    var authorizationTimeout: Int?
    /// Additional valid secrets.
    var furtherSecrets: [String] = []

    /// The app's configuration for the broker.
    func configuration(of app: Int, _ variant: Variant?) -> AppConfiguration {
        var configuration = Scenario.app(app)
        configuration.isEnabled = isEnabled
        configuration.limits.subscriptionsMax =
            subscriptionsMax + (variant == .oneSubscriptionMore ? 1 : 0)
        configuration.limits.membersMax = membersMax + (variant == .oneMemberMore ? 1 : 0)
        configuration.limits.connectionsMax =
            connectionsMax + (variant == .oneConnectionMore ? 1 : 0)
        configuration.limits.clientEventRate = Rate(
            perSecond: Scenario.eventsPerSecondMax + (variant == .oneEventMore ? 1 : 0)
        )
        configuration.features.cacheLifetime = Scenario.cacheLifetime
        configuration.recovery.standard.messagesMax =
            Scenario.messagesMax + (variant == .oneMessageMore ? 1 : 0)
        configuration.recovery.standard.ageMax = Scenario.messageAgeMax
        configuration.recovery.replayMessagesMax = Scenario.replayMessagesMax
        configuration.recoveryRules = Scenario.channels.filter(\.opens).map { channel in
            var rule = RecoveryRuleConfiguration()
            rule.settings.channelPrefix = channel.name
            rule.settings.keep = .always
            rule.opening = .replay
            rule.openingCount = Scenario.openingCount - (variant == .shortOpening ? 1 : 0)
            return rule
        }
        // Time stands still while messages are delivered.
        configuration.features.presenceNoticeDelay = 0
        configuration.features.presenceGrace = presenceGrace
        configuration.features.clientEvents = clientEvents
        configuration.features.subscriptionCount = countsAreTold
        configuration.features.watchlist = true
        configuration.features.authorizedConnections = authorizationTimeout != nil
        configuration.features.authorizationTimeout = authorizationTimeout ?? 30
        configuration.credentials = furtherSecrets.map { .init(secret: $0) }
        if variant == .foreignCredential {
            configuration.credentials.append(.init(secret: Scenario.foreignSecret))
        }
        return configuration
    }
}

/// The constants of all runs: few names, so that they collide often.
enum Scenario {
    static let appIDs = ["1", "2"]
    static let keys = ["key-of-1", "key-of-2"]
    static let secrets = ["secret-of-1", "secret-of-2"]
    /// An invalid secret, except for one variant.
    static let foreignSecret = "a foreign secret"
    /// The additional secret that a reload may enable.
    static let secondSecret = "the next secret"

    static let clientCount = 10
    static let users = ["u0", "u1", "u2", "u3", "u4"]
    static let channels: [ChannelProperties] =
        [
            ChannelProperties("news"),
            ChannelProperties("talk"),
            ChannelProperties("jobs", opens: true),
            ChannelProperties("private-a", isSigned: true),
            ChannelProperties("private-b", isSigned: true),
            ChannelProperties("presence-x", isSigned: true, isPresence: true),
            ChannelProperties("presence-y", isSigned: true, isPresence: true),
            ChannelProperties("cache-c", isCache: true),
            ChannelProperties("private-cache-d", isSigned: true, isCache: true),
            ChannelProperties("presence-cache-z", isSigned: true, isPresence: true, isCache: true),
            ChannelProperties("private-encrypted-e", isSigned: true),
            ChannelProperties("private-encrypted-cache-f", isSigned: true, isCache: true),
        ] + users.indices.map { ChannelProperties("#server-to-user-\(users[$0])", user: $0) }

    /// The index of each channel's name.
    static let channelIndices = Dictionary(
        uniqueKeysWithValues: channels.enumerated().map { ($1.name, $0) }
    )
    /// The index of the first server-to-user channel.
    static let firstUserChannel = channels.count - users.count

    /// The index of the channel that opens with earlier messages.
    static let openingChannel = channels.firstIndex(where: \.opens) ?? 0

    /// The lifetime of a cached event, in seconds.
    static let cacheLifetime = 30
    /// The limits of what a channel keeps, and of one replay.
    static let messagesMax = 12
    static let messageAgeMax = 40
    static let replayMessagesMax = 9
    /// The limit of one replay, in bytes.
    static let replayBytesMax = queuedBytesMax / 4
    /// The number of earlier messages that a channel opens with.
    static let openingCount = 4
    /// How long the last number of a channel without subscribers is kept, in seconds.
    static let positionAge = 86_400
    static let activityTimeout = 24
    static let pongTimeout = 9
    /// The seconds of silence after which a client must be closed, including the delays of the broker's checks.
    static let silenceMax = activityTimeout + activityTimeout / 4 + pongTimeout + 2 * 3 + 12
    /// The rate limit of client events, per second.
    static let eventsPerSecondMax = 10
    /// The limit of faulty messages, per minute.
    static let faultsPerMinuteMax = 120
    /// The limit of one client's send queue, in bytes.
    static let queuedBytesMax = 12_000
    static let messageLengthMax = 4_096
    /// The bytes of events in a flood: more than a client's send queue and its socket buffer hold.
    static let floodLength = 600_000

    /// The configurations of the two apps before any reload.
    static let rules = [
        Rules(),
        Rules(
            clientEvents: false,
            countsAreTold: false,
            presenceGrace: 3,
            authorizationTimeout: 20
        ),
    ]

    /// The broker's configuration.
    static func configuration(_ rules: [Rules], _ variant: Variant?) -> Configuration {
        var configuration = Configuration()
        configuration.apps = apps(rules, variant)
        configuration.activityTimeout = activityTimeout
        configuration.pongTimeout = pongTimeout
        configuration.streamLimits.queuedBytesMax = queuedBytesMax
        configuration.webSocketLimits.messageLengthMax = messageLengthMax
        configuration.compression.threshold = 64
        return configuration
    }

    /// The configuration of an app with its credentials alone.
    static func app(_ app: Int) -> AppConfiguration {
        AppConfiguration(id: appIDs[app], key: keys[app], secret: secrets[app])
    }

    /// The apps of the configuration.
    static func apps(_ rules: [Rules], _ variant: Variant?) -> [AppConfiguration] {
        rules.indices.map { rules[$0].configuration(of: $0, variant) }
    }
}

/// The properties of a channel that the reference model needs.
struct ChannelProperties {
    let name: String
    /// Whether a subscription needs a signature, and so allows client events.
    var isSigned = false
    var isPresence = false
    var isCache = false
    /// The user of a server-to-user channel.
    var user: Int?
    /// Whether a new client gets earlier messages.
    var opens = false
    /// Whether backends purge it: what a new client then finds is not modelled for channels that begin with an event.
    var isPurged: Bool { !opens && !isCache }

    init(
        _ name: String,
        isSigned: Bool = false,
        isPresence: Bool = false,
        isCache: Bool = false,
        user: Int? = nil,
        opens: Bool = false
    ) {
        self.opens = opens
        self.name = name
        self.isSigned = isSigned
        self.isPresence = isPresence
        self.isCache = isCache
        self.user = user
    }
}
