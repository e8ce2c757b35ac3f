import FanfareServer

/// What the apps of a simulated broker allow, as the reference model has it.
struct Rules {
    var isEnabled = true
    var subscriptionsMax = 5
    var membersMax = 2
    var connectionsMax = 7
    var clientEvents = true
    var countsAreTold = true
    /// Seconds in which a connection has to prove itself; `nil` for none.
    var probation: Int?
    /// Secrets that sign, beside the app's own.
    var furtherSecrets: [String] = []

    /// The app as the broker is told of it.
    func configuration(of app: Int, _ variant: Variant?) -> AppConfiguration {
        var configuration = AppConfiguration(
            id: Cast.appIDs[app],
            key: Cast.keys[app],
            secret: Cast.secrets[app]
        )
        configuration.isEnabled = isEnabled
        configuration.subscriptionsMax =
            subscriptionsMax + (variant == .oneSubscriptionMore ? 1 : 0)
        configuration.membersMax = membersMax + (variant == .oneMemberMore ? 1 : 0)
        configuration.connectionsMax = connectionsMax + (variant == .oneConnectionMore ? 1 : 0)
        configuration.clientEventsPerSecondMax =
            Cast.eventsPerSecondMax + (variant == .oneEventMore ? 1 : 0)
        configuration.cacheLifetime = Cast.cacheLifetime
        // Time stands still while everything arrives.
        configuration.presenceNoticeDelay = 0
        configuration.features.clientEvents = clientEvents
        configuration.features.subscriptionCount = countsAreTold
        configuration.features.watchlist = true
        configuration.features.authorizedConnections = probation != nil
        configuration.features.authorizationTimeout = probation ?? 30
        configuration.credentials = furtherSecrets.map { .init(secret: $0) }
        if variant == .foreignCredential {
            configuration.credentials.append(.init(secret: Cast.foreignSecret))
        }
        return configuration
    }
}

/// Who and what appears in every run: few names, so that they meet often.
enum Cast {
    static let appIDs = ["1", "2"]
    static let keys = ["key-of-1", "key-of-2"]
    static let secrets = ["secret-of-1", "secret-of-2"]
    /// What signs for nobody, unless a variant is broken that way.
    static let foreignSecret = "a secret of somebody else"
    /// What a reload lets sign as well.
    static let secondSecret = "the next secret"

    static let clientCount = 10
    static let users = ["u0", "u1", "u2", "u3", "u4"]
    static let channels: [CastChannel] =
        [
            CastChannel("news"),
            CastChannel("talk"),
            CastChannel("private-a", isSigned: true),
            CastChannel("private-b", isSigned: true),
            CastChannel("presence-x", isSigned: true, isPresence: true),
            CastChannel("presence-y", isSigned: true, isPresence: true),
            CastChannel("cache-c", isCache: true),
            CastChannel("private-cache-d", isSigned: true, isCache: true),
            CastChannel("presence-cache-z", isSigned: true, isPresence: true, isCache: true),
            CastChannel("private-encrypted-e", isSigned: true),
            CastChannel("private-encrypted-cache-f", isSigned: true, isCache: true),
        ] + users.indices.map { CastChannel("#server-to-user-\(users[$0])", user: $0) }

    /// The place of a channel by its name.
    static let channelIndices = Dictionary(
        uniqueKeysWithValues: channels.enumerated().map { ($1.name, $0) }
    )
    /// The first of the channels that belong to users.
    static let firstUserChannel = channels.count - users.count

    /// Seconds for which a cache channel keeps its event.
    static let cacheLifetime = 30
    static let activityTimeout = 24
    static let pongTimeout = 9
    /// Seconds of silence after which a client must be gone, however late the broker looks.
    static let silenceMax = activityTimeout + activityTimeout / 4 + pongTimeout + 2 * 3 + 12
    /// Events that a client may send in a second.
    static let eventsPerSecondMax = 10
    /// Messages that are none, in a minute.
    static let faultsPerMinuteMax = 120
    /// Bytes that may wait for one client.
    static let queuedBytesMax = 12_000
    static let messageLengthMax = 4_096
    /// Bytes of events in a flood: more than a client's queue and its kernel's room hold if they come at once.
    static let floodLength = 600_000

    /// The rules of the two apps before any reload.
    static let rules = [
        Rules(),
        Rules(clientEvents: false, countsAreTold: false, probation: 20),
    ]

    /// The broker's configuration.
    static func configuration(_ rules: [Rules], _ variant: Variant?) -> Configuration {
        var configuration = Configuration()
        configuration.apps = apps(rules, variant)
        configuration.activityTimeout = activityTimeout
        configuration.pongTimeout = pongTimeout
        configuration.queuedBytesMax = queuedBytesMax
        configuration.messageLengthMax = messageLengthMax
        configuration.compression.threshold = 64
        return configuration
    }

    /// The apps of the configuration.
    static func apps(_ rules: [Rules], _ variant: Variant?) -> [AppConfiguration] {
        rules.indices.map { rules[$0].configuration(of: $0, variant) }
    }
}

/// A channel, and what the reference model has to know about it.
struct CastChannel {
    let name: String
    /// Whether the app's backend has to sign; then clients may send events as well.
    var isSigned = false
    var isPresence = false
    var isCache = false
    /// The user whose own channel it is.
    var user: Int?

    init(
        _ name: String,
        isSigned: Bool = false,
        isPresence: Bool = false,
        isCache: Bool = false,
        user: Int? = nil
    ) {
        self.name = name
        self.isSigned = isSigned
        self.isPresence = isPresence
        self.isCache = isCache
        self.user = user
    }
}
