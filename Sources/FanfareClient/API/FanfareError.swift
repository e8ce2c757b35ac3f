/// An error of a client: a code for programs, what happened, and what to do.
public struct FanfareError: Error, Sendable, Hashable {
    /// The kind of an error; later versions may have others.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code's name.
        public let description: String

        init(_ name: String) { description = name }

        /// The broker refused the connection with a code that forbids reconnecting unchanged (4000–4099); ``status``
        /// is that code.
        public static let refused = Code("refused")
        /// The broker or an intermediary closed the connection; ``status`` is the close frame's code, `nil` without a
        /// close frame.
        public static let closed = Code("closed")
        /// The connection could not be opened: name lookup, TCP or TLS failed.
        public static let unreachable = Code("unreachable")
        /// The broker's certificate is not trusted, or the certificates of ``ClientOptions/Network/trust`` cannot be
        /// read.
        public static let untrusted = Code("untrusted")
        /// The proxy of ``ClientOptions/Network/proxy`` was not reached, or refused the connection.
        public static let proxyFailed = Code("proxy_failed")
        /// The server refused the WebSocket handshake: it is no broker, or the broker is at another path.
        public static let upgradeRefused = Code("upgrade_refused")
        /// The broker broke a rule of WebSocket or of the Pusher protocol.
        public static let protocolViolation = Code("protocol_violation")
        /// The broker's first message did not arrive in time.
        public static let connectTimedOut = Code("connect_timed_out")
        /// No answer to a ping arrived in time.
        public static let pingUnanswered = Code("ping_unanswered")
        /// A `pusher:error` message that leaves the connection open; ``status`` is its code.
        public static let reported = Code("reported")
        /// The broker refused a subscription; ``status`` is the status of its error.
        public static let subscriptionRefused = Code("subscription_refused")
        /// The app's backend did not authorise a subscription, or the request failed; ``status`` is the response's.
        public static let authorizationFailed = Code("authorization_failed")
        /// The channel is encrypted, and ``ClientOptions/decrypter`` is `nil`.
        public static let decrypterMissing = Code("decrypter_missing")
        /// An encrypted event could not be decrypted, even with a fresh key; it was skipped.
        public static let undecryptable = Code("undecryptable")
        /// The app's backend did not authenticate the user, or the request failed; ``status`` is the response's.
        public static let signInFailed = Code("sign_in_failed")
        /// The broker refused the sign-in.
        public static let signInRefused = Code("sign_in_refused")
        /// The client or the broker refused a client event; it will not be sent.
        public static let clientEventRefused = Code("client_event_refused")
        /// Queued client events were dropped; they will not be sent.
        public static let clientEventsDropped = Code("client_events_dropped")
        /// ``ClientOptions/Recovery/outbox`` cannot be read or written; its events stay in memory.
        public static let outboxFailed = Code("outbox_failed")
        /// ``ClientOptions/Recovery/positions`` cannot be read or written; a new run of the app may begin at older
        /// positions.
        public static let positionsFailed = Code("positions_failed")
        /// The app's state could not be loaded; see ``ChannelSubscription/deliveries(_:behind:at:)``.
        public static let stateNotLoaded = Code("state_not_loaded")
        /// The data of an event cannot be decoded as the requested type.
        public static let undecodable = Code("undecodable")
        /// ``Fanfare/disconnect()`` was called.
        public static let disconnected = Code("disconnected")
        /// The app unsubscribed from the channel.
        public static let unsubscribed = Code("unsubscribed")
    }

    /// The kind of the error.
    public let code: Code
    /// What happened, for a developer.
    public let message: String
    /// What to do about it; `nil` if there is nothing to do.
    public let advice: String?
    /// The reason as the broker, the backend or the system gave it; empty if there is none.
    public let reason: String
    /// The number from the broker or the backend; its meaning depends on the ``code``.
    public let status: Int?
    /// The channel, if the error is about one.
    public let channel: String?
    /// The event, if the error is about one that was received.
    public let event: ChannelEvent?

    init(
        _ code: Code,
        _ message: String,
        advice: String? = nil,
        reason: String = "",
        status: Int? = nil,
        channel: String? = nil,
        event: ChannelEvent? = nil
    ) {
        self.code = code
        self.message = message
        self.advice = advice
        self.reason = reason
        self.status = status
        self.channel = channel
        self.event = event
    }
}

extension FanfareError: CustomStringConvertible {
    /// What happened and what to do, for a developer.
    public var description: String { advice.map { "\(message). \($0)" } ?? message }
}

/// An invalid option: an endpoint, certificates, a pin or a proxy.
public struct InvalidOption: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong, where, and the expected form.
    public let description: String

    init(_ description: String) { self.description = description }
}
