extension ScriptedBroker {
    /// What a broker allows, and what it holds at the most.
    ///
    /// The defaults let an app do everything, so that a test names only what it is about.
    public struct Settings: Sendable {
        /// Whose signatures the broker believes.
        public enum Authorization: Sendable, Equatable {
            /// Anybody's, also where there is none: a test needs no backend that signs. Who joins
            /// a presence channel as nobody in particular is a user named after the connection.
            case any
            /// The app's, as a real broker: see ``ScriptedBroker/authorization(of:for:as:)``.
            case signed
        }

        /// The app's public key; another one is refused with 4001.
        public var key = "app-key"
        /// The app's secret.
        public var secret = "app-secret"
        /// Whose signatures count on private and presence channels and for signing in.
        public var authorization = Authorization.any
        /// Silence after which the broker asks its clients to ping.
        public var activityTimeout = Duration.seconds(120)
        /// Whether clients may send events.
        public var allowsClientEvents = true
        /// How many of them a connection may send in a second of the clock; more is refused.
        public var clientEventsPerSecondMax = 1_000_000
        /// Whether subscribers are told how many they are.
        public var tellsSubscriptionCounts = false
        /// Whether users are told who on their watchlist comes and goes.
        public var tellsWatchlists = true
        /// Members of one presence channel; one more user is refused.
        public var membersMax = 100
        /// Subscriptions of one connection; one more is refused.
        public var subscriptionsMax = 10_000
        /// The data of one event, in bytes.
        public var dataLengthMax = 10_240
        /// How long a cache channel holds its event.
        public var cacheLifetime = Duration.seconds(1_800)
        /// Messages that may wait for one client that does not read, or that are delayed; one more
        /// closes the connection with 4100.
        public var messagesWaitingMax = 10_000
        /// What clients have done that is remembered; one more takes the place of the oldest.
        public var actionsMax = 10_000

        /// The default of each.
        public init() {}
    }
}
