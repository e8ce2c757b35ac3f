/// One app: who may connect and trigger with which credentials, and within which limits.
public struct AppConfiguration: Sendable, Hashable {
    /// The app's ID, which is part of the HTTP API's paths; digits, for official libraries demand them.
    public var id: String
    /// The public key, which clients put in the connection URL.
    public var key: String
    /// The secret that signs requests, subscriptions and webhooks; never logged.
    public var secret: String
    /// What is accepted beside key and secret, while they are being replaced.
    public var credentials: [Credential] = []
    /// Whether the app may be used; connections to a disabled one are refused with 4003.
    public var isEnabled = true
    /// Whether clients must use TLS; without it they are refused with 4000.
    public var isTLSOnly = false
    /// The origins of the pages that may connect, as `https://example.com` or `https://*.example.com`; empty for all.
    public var allowedOrigins: [String] = []

    /// The connections of this app; `nil` leaves it to the limit of the process.
    public var connectionsMax: Int?
    /// What all that waits for this app's clients may hold of memory, in bytes; `nil` for what the process may.
    public var queuedBytesMax: Int?
    /// The channels that one connection may be subscribed to.
    public var subscriptionsMax = 10_000
    /// The length of an event's data, in bytes.
    public var eventDataLengthMax = 10_240
    /// The length of a channel's name, in characters.
    public var channelNameLengthMax = 200
    /// The channels that one trigger may name.
    public var triggerChannelsMax = 100
    /// The events of one batch.
    public var batchEventsMax = 10
    /// The members of one presence channel, each with any number of connections.
    public var membersMax = 100
    /// How long notices of arrivals and departures on a presence channel of more than 100 members may wait for others, in
    /// milliseconds; 0 for not at all.
    public var presenceNoticeDelay = 40
    /// The length of what a member tells the others, in bytes of JSON.
    public var userInfoLengthMax = 1_024
    /// The users that one user may watch.
    public var watchlistMax = 100
    /// The events that cache channels hold, one each.
    public var cachedEventsMax = 10_000
    /// How long a cache channel holds its event, in seconds.
    public var cacheLifetime = 1_800
    /// The events that one connection may send, each second.
    public var clientEventsPerSecondMax = 10
    /// The channels that one connection may subscribe to, each second; `nil` for any number.
    public var subscriptionsPerSecondMax: Int?
    /// The requests that the app's backends may make, each second; `nil` for any number.
    public var requestsPerSecondMax: Int?
    /// Those of them that trigger events; `nil` for any number.
    public var triggersPerSecondMax: Int?
    /// Those of them that ask; `nil` for any number.
    public var queriesPerSecondMax: Int?
    /// Those of them that close the connections of a user; `nil` for any number.
    public var terminationsPerSecondMax: Int?
    /// The messages that break a rule, a minute, before a connection is closed with 4100.
    public var faultyMessagesPerMinuteMax = 120

    /// What the app's clients may do.
    public var features = Features()
    /// The endpoints that are told what happens on the app's channels.
    public var webhooks: [WebhookConfiguration] = []

    /// Creates an app with its credentials and the default limits.
    public init(id: String, key: String, secret: String) {
        self.id = id
        self.key = key
        self.secret = secret
    }

    /// The app that a broker without configuration serves, and that the command-line program uses.
    ///
    /// Its clients may send events, to try that out; those of other apps may not until somebody says so, as at the
    /// hosted service.
    public static let development = {
        var app = AppConfiguration(id: "1", key: "app-key", secret: "app-secret")
        app.features.clientEvents = true
        return app
    }()

    /// The app's own credentials and those beside it, the oldest first.
    var allCredentials: [(key: String, secret: String)] {
        [(key, secret)] + credentials.map { ($0.key ?? key, $0.secret) }
    }
}

extension AppConfiguration {
    /// A further pair of key and secret, as good as the app's own.
    public struct Credential: Sendable, Hashable {
        /// The public key; `nil` for the app's own.
        public var key: String?
        /// The secret that signs; never logged.
        public var secret: String

        /// Creates a credential.
        public init(key: String? = nil, secret: String) {
            self.key = key
            self.secret = secret
        }
    }

    /// What an app's clients may do.
    public struct Features: Sendable, Hashable {
        /// Whether clients may send events to private and presence channels that they have joined.
        public var clientEvents = false
        /// Whether subscribers are told how many they are, on every channel but presence ones.
        public var subscriptionCount = false
        /// Whether clients may sign in as users.
        public var users = true
        /// Whether users who sign in with a watchlist are told who on it comes and goes.
        public var watchlist = false
        /// Whether a connection must prove that the app's backend knows it, to stay.
        public var authorizedConnections = false
        /// How long it may take to prove that, in seconds.
        public var authorizationTimeout = 30

        /// Creates the default features.
        public init() {}
    }
}

extension AppConfiguration: CustomStringConvertible, CustomReflectable {
    /// The app without its secret, fit for a log.
    public var description: String { "app \(id) (key \(key))" }

    /// What `dump` and debuggers show: the names and limits, no secret.
    public var customMirror: Mirror {
        Mirror(self, children: ["id": id, "key": key, "secret": "(secret)"])
    }
}

extension AppConfiguration.Credential: CustomStringConvertible, CustomReflectable {
    /// The credential without its secret, fit for a log.
    public var description: String { "credential (key \(key ?? "of the app"))" }

    /// What `dump` and debuggers show: all but the secret.
    public var customMirror: Mirror {
        Mirror(self, children: ["key": key ?? "of the app", "secret": "(secret)"])
    }
}
