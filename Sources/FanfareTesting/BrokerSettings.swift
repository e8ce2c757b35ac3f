extension ScriptedBroker {
    /// The settings of a scripted broker.
    ///
    /// By default most features are on, so that a test sets only those that it tests.
    public struct Settings: Sendable {
        /// The check of signatures.
        public enum Authorization: Sendable, Equatable {
            /// Accepts any signature, and a missing one, so that a test needs no backend.
            ///
            /// A client without `channel_data` joins a presence channel as a user named after the connection.
            case any
            /// Accepts only the app's signatures, like a real broker; see ``ScriptedBroker/authorization(of:for:as:)``.
            case signed
        }

        /// The events that a client receives before live events when it subscribes for the first time.
        public enum Opening: Sendable, Equatable {
            /// No earlier events.
            case live
            /// The last `count` earlier events, and only those of the last `seconds`; without either, all kept events.
            case replay(count: Int? = nil, seconds: Int? = nil)
        }

        /// The app's public key; any other is refused with 4001.
        public var key = "app-key"
        /// The app's secret.
        public var secret = "app-secret"
        /// The check of signatures for private and presence channels and sign-ins.
        public var authorization = Authorization.any
        /// The idle time after which clients send a ping.
        public var activityTimeout = Duration.seconds(120)
        /// Whether clients may send events.
        public var allowsClientEvents = true
        /// Whether clients get receipts for their client events, as from Fanfare; `false` simulates other brokers.
        public var sendsReceipts = true
        /// The maximum number of client events of one connection per second of the clock; more are refused.
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
        /// Whether messages are numbered and kept for clients that reconnect, as by Fanfare; `false` simulates other
        /// brokers.
        public var keepsHistory = true
        /// The maximum number of kept messages of one channel; one more removes the oldest.
        public var historyMessagesMax = 1_000
        /// The time for which a message is kept.
        public var historyAge = Duration.seconds(300)
        /// Whether clients without a position may request earlier messages.
        public var allowsRewind = false
        /// The earlier events that a client without a position receives before live events.
        ///
        /// All channels then keep some events from the first event on.
        public var opening = Opening.live
        /// The maximum number of messages queued for one client that does not read or whose messages are delayed.
        ///
        /// One more closes the connection with 4100.
        public var messagesWaitingMax = 10_000
        /// The maximum number of recorded actions; one more removes the oldest.
        public var actionsMax = 10_000

        /// Creates settings with the defaults.
        public init() {}
    }
}
