extension ScriptedBroker {
    /// The settings of a scripted broker.
    ///
    /// By default all features are on, so that a test sets only what it is about.
    public struct Settings: Sendable {
        /// The check of signatures.
        public enum Authorization: Sendable, Equatable {
            /// Accepts any signature, and a missing one, so that a test needs no backend. Without `channel_data`, a
            /// client joins a presence channel as a user named after the connection.
            case any
            /// Accepts only the app's signatures, like a real broker: see ``ScriptedBroker/authorization(of:for:as:)``.
            case signed
        }

        /// What precedes live events for a client that subscribes for the first time.
        public enum Opening: Sendable, Equatable {
            /// Nothing.
            case live
            /// The last `count` earlier events, and only those of the last `seconds`; without either all that are kept.
            case replay(count: Int? = nil, seconds: Int? = nil)
        }

        /// The app's public key; any other is refused with 4001.
        public var key = "app-key"
        /// The app's secret.
        public var secret = "app-secret"
        /// The check of signatures for private and presence channels and sign-ins.
        public var authorization = Authorization.any
        /// The time of silence after which clients send a ping.
        public var activityTimeout = Duration.seconds(120)
        /// Whether clients may send events.
        public var allowsClientEvents = true
        /// Whether clients get receipts of their client events, as from Fanfare; `false` as from other brokers.
        public var sendsReceipts = true
        /// The maximum number of client events of one connection in a second of the clock; more are refused.
        public var clientEventsPerSecondMax = 1_000_000
        /// Whether subscribers receive the number of subscribers.
        public var sendsSubscriptionCounts = false
        /// Whether users receive the online and offline events of their watchlist.
        public var sendsWatchlistEvents = true
        /// The maximum number of members of one presence channel; one more user is refused.
        public var membersMax = 100
        /// The maximum number of subscriptions of one connection; one more is refused.
        public var subscriptionsMax = 10_000
        /// The maximum length of the data of one event, in bytes.
        public var dataLengthMax = 102_400
        /// The lifetime of a cache channel's event.
        public var cacheLifetime = Duration.seconds(1_800)
        /// Whether messages are numbered and kept for clients that come back, as by Fanfare; `false` as by other brokers.
        public var keepsHistory = true
        /// The maximum number of kept messages of one channel; one more drops the oldest.
        public var historyMessagesMax = 1_000
        /// How long a message is kept.
        public var historyAge = Duration.seconds(300)
        /// Whether clients without a position may ask for earlier messages.
        public var allowsRewind = false
        /// What a client without a position gets ahead of live events: earlier ones, of which all channels then keep
        /// some from the first event on.
        public var opening = Opening.live
        /// The maximum number of messages queued for one client that does not read, or whose messages are delayed; one
        /// more closes the connection with 4100.
        public var messagesWaitingMax = 10_000
        /// The maximum number of recorded actions; one more evicts the oldest.
        public var actionsMax = 10_000

        /// Creates settings with defaults.
        public init() {}
    }
}
