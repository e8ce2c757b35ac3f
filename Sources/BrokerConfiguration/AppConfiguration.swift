/// The configuration of one app: its credentials, limits, features and webhooks.
public struct AppConfiguration: Sendable, Hashable {
    /// The app's ID, which is part of the HTTP API's paths.
    ///
    /// Official libraries require digits.
    public var id: String
    /// The public key, which clients send in the connection URL.
    public var key: String
    /// The secret that signs requests, subscriptions and webhooks; it is never logged.
    public var secret: String
    /// Further credentials that are accepted, for the replacement of a secret.
    public var credentials: [Credential] = []
    /// Whether the app is enabled; connections to a disabled app are refused with 4003.
    public var isEnabled = true
    /// Whether clients must use TLS; others are refused with 4000.
    public var isTLSOnly = false
    /// The origins of the web pages that may connect, such as `https://example.com` or `https://*.example.com`; empty
    /// for all.
    public var allowedOrigins: [String] = []

    /// The maximum number of connections of this app; `nil` for the limit of the process.
    public var connectionsMax: Int?
    /// The maximum memory of the outgoing queues of this app's clients, in bytes; `nil` for the limit of the process.
    public var queuedBytesMax: Int?
    /// The maximum number of channels of one connection.
    public var subscriptionsMax = 10_000
    /// The maximum length of an event's data, in bytes.
    public var eventDataLengthMax = 102_400
    /// Other limits for the channels with a prefix; the first that fits applies.
    public var eventDataRules: [EventDataRule] = []
    /// The maximum length of a channel's name, in characters.
    public var channelNameLengthMax = 200
    /// The maximum number of channels of one trigger.
    public var triggerChannelsMax = 100
    /// The maximum number of events of one batch.
    public var batchEventsMax = 10
    /// The maximum number of members of one presence channel; a member may have any number of connections.
    public var membersMax = 100
    /// How long notices of arrivals and departures on a presence channel of more than 100 members may be delayed to
    /// share a send, in milliseconds; 0 for no delay.
    public var presenceNoticeDelay = 40
    /// The maximum length of a member's `user_info`, in bytes of JSON.
    public var userInfoLengthMax = 1_024
    /// The maximum number of users on a watchlist.
    public var watchlistMax = 100
    /// The maximum number of events that the app's cache channels hold, one each.
    public var cachedEventsMax = 10_000
    /// The lifetime of a cached event, in seconds.
    public var cacheLifetime = 1_800
    /// The maximum number of idempotency keys of events that the broker remembers.
    public var idempotencyKeysMax = 100_000
    /// How long it remembers them, in seconds.
    public var idempotencyAge = 600
    /// The maximum number of client events of one connection per second.
    public var clientEventsPerSecondMax = 10
    /// The maximum number of subscriptions of one connection per second; `nil` for no limit.
    public var subscriptionsPerSecondMax: Int?
    /// The maximum number of requests of the app's backends per second; `nil` for no limit.
    public var requestsPerSecondMax: Int?
    /// The maximum number of requests per second that trigger events; `nil` for no limit.
    public var triggersPerSecondMax: Int?
    /// The maximum number of queries per second; `nil` for no limit.
    public var queriesPerSecondMax: Int?
    /// The maximum number of requests per second that close a user's connections; `nil` for no limit.
    public var terminationsPerSecondMax: Int?
    /// The number of faulty messages per minute above which a connection is closed with 4100.
    public var faultyMessagesPerMinuteMax = 120

    /// The features of the app.
    public var features = Features()
    /// What the app's channels keep for clients that come back.
    public var recovery = RecoveryConfiguration()
    /// The webhook endpoints of the app.
    public var webhooks: [WebhookConfiguration] = []

    /// Creates an app with its credentials and the default limits.
    public init(id: String, key: String, secret: String) {
        self.id = id
        self.key = key
        self.secret = secret
    }

    /// The app of a broker without configuration, and of the command-line program.
    ///
    /// Its clients may send client events, to try them out; for other apps the default is off, as at the hosted
    /// service.
    public static let development = {
        var app = AppConfiguration(id: "1", key: "app-key", secret: "app-secret")
        app.features.clientEvents = true
        return app
    }()

    /// All credentials of the app, its own first.
    package var allCredentials: [(key: String, secret: String)] {
        [(key, secret)] + credentials.map { ($0.key ?? key, $0.secret) }
    }
}

extension AppConfiguration {
    /// A further pair of key and secret, equivalent to the app's own.
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

    /// The limit of events on the channels with a prefix.
    public struct EventDataRule: Sendable, Hashable {
        /// The beginning of the channels' names.
        public var channelPrefix: String
        /// The maximum length of an event's data, in bytes.
        public var lengthMax: Int

        /// Creates a rule.
        public init(channelPrefix: String, lengthMax: Int) {
            self.channelPrefix = channelPrefix
            self.lengthMax = lengthMax
        }
    }

    /// The features of an app.
    public struct Features: Sendable, Hashable {
        /// Whether clients may send client events to private and presence channels that they have joined.
        public var clientEvents = false
        /// Whether subscribers get the subscription count, on all channels except presence channels.
        public var subscriptionCount = false
        /// Whether clients may sign in as users.
        public var users = true
        /// Whether users with a watchlist are notified when the users on it come online and go offline.
        public var watchlist = false
        /// Whether a connection must be authorized by the app's backend, by a sign-in or a subscription, to stay open.
        public var authorizedConnections = false
        /// The time until a connection must be authorized, in seconds.
        public var authorizationTimeout = 30

        /// Creates the default features.
        public init() {}
    }
}

extension AppConfiguration: CustomStringConvertible, CustomReflectable {
    /// The app without its secret, for logs.
    public var description: String { "app \(id) (key \(key))" }

    /// The fields for `dump` and debuggers, without the secret.
    public var customMirror: Mirror {
        Mirror(self, children: ["id": id, "key": key, "secret": "(secret)"])
    }
}

extension AppConfiguration.Credential: CustomStringConvertible, CustomReflectable {
    /// The credential without its secret, for logs.
    public var description: String { "credential (key \(key ?? "of the app"))" }

    /// The fields for `dump` and debuggers, without the secret.
    public var customMirror: Mirror {
        Mirror(self, children: ["key": key ?? "of the app", "secret": "(secret)"])
    }
}
