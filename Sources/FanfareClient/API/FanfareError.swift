/// An error of a client: a code to decide by, what happened, and what to do about it.
public struct FanfareError: Error, Sendable, Hashable {
    /// The kind of an error; later versions may have others.
    public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The code's name.
        public let rawValue: String

        /// Creates a code from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The code's name.
        public var description: String { rawValue }

        /// The broker refused the connection with a code that forbids reconnecting unchanged (4000–4099); ``status``
        /// is that code.
        public static let refused = Code(rawValue: "refused")
        /// The broker or an intermediary closed the connection; ``status`` is the close frame's code, `nil` without a
        /// close frame.
        public static let closed = Code(rawValue: "closed")
        /// The connection could not be opened: name lookup, TCP or TLS failed.
        public static let unreachable = Code(rawValue: "unreachable")
        /// The broker's certificate is not trusted, or the certificates of ``ClientOptions/trust`` cannot be read.
        public static let untrusted = Code(rawValue: "untrusted")
        /// The proxy of ``ClientOptions/proxy`` was not reached, or refused the connection.
        public static let proxyFailed = Code(rawValue: "proxy_failed")
        /// The server refused the WebSocket handshake: it is not a broker, or has none at this path.
        public static let upgradeRefused = Code(rawValue: "upgrade_refused")
        /// The broker broke a rule of WebSocket or of the Pusher protocol.
        public static let protocolViolation = Code(rawValue: "protocol_violation")
        /// The broker's first message did not arrive in time.
        public static let connectTimedOut = Code(rawValue: "connect_timed_out")
        /// No answer to a ping arrived in time.
        public static let pingUnanswered = Code(rawValue: "ping_unanswered")
        /// A `pusher:error` message that leaves the connection open; ``status`` is its code.
        public static let reported = Code(rawValue: "reported")
        /// The broker refused a subscription; ``status`` is the error's.
        public static let subscriptionRefused = Code(rawValue: "subscription_refused")
        /// The app's backend did not authorise a subscription, or the request failed; ``status`` is the response's.
        public static let authorizationFailed = Code(rawValue: "authorization_failed")
        /// The channel is encrypted, and ``ClientOptions/decrypter`` is `nil`.
        public static let decrypterMissing = Code(rawValue: "decrypter_missing")
        /// An encrypted event could not be decrypted, even with a fresh key; it was skipped.
        public static let undecryptable = Code(rawValue: "undecryptable")
        /// The app's backend did not authenticate the user, or the request failed; ``status`` is the response's.
        public static let signInFailed = Code(rawValue: "sign_in_failed")
        /// The broker refused the sign-in.
        public static let signInRefused = Code(rawValue: "sign_in_refused")
        /// A client event was refused; it will not be sent.
        public static let clientEventRefused = Code(rawValue: "client_event_refused")
        /// Queued client events were dropped; they will not be sent.
        public static let clientEventsDropped = Code(rawValue: "client_events_dropped")
        /// The data of an event cannot be decoded as the requested type.
        public static let undecodable = Code(rawValue: "undecodable")
        /// ``Fanfare/disconnect()`` was called.
        public static let disconnected = Code(rawValue: "disconnected")
        /// The app unsubscribed from the channel.
        public static let unsubscribed = Code(rawValue: "unsubscribed")
    }

    /// The kind of the error.
    public let code: Code
    /// What happened, for a developer.
    public let message: String
    /// What to do about it; `nil` if there is nothing to do.
    public let advice: String?
    /// The reason in the words of the broker, the backend or the system; empty if there is none.
    public let reason: String
    /// The number that the broker or the backend gave; its meaning depends on the ``code``.
    public let status: Int?
    /// The channel, if the error is about one.
    public let channel: String?
    /// The event, if the error is about one that was received.
    public let event: ChannelEvent?

    private init(
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

// MARK: - The errors

extension FanfareError {
    static func refused(code: Int, message: String) -> FanfareError {
        let advice =
            switch code {
            case 4000: "Connect with wss."
            case 4001: "Check the app's key."
            case 4003: "Enable the app in the broker's configuration."
            case 4004: "Raise the app's connection limit, or close connections."
            case 4005: "Check the path prefix."
            case 4006...4008: "Broker and client use different versions of the protocol."
            case 4009: "Sign in again, or check the allowed origins."
            default: "Fix the cause, then call connect() again."
            }
        return FanfareError(
            .refused,
            "the broker refuses the connection: \(message) (\(code))",
            advice: advice,
            reason: message,
            status: code
        )
    }

    static func closed(code: Int?, reason: String) -> FanfareError {
        let what =
            code.map { "the connection was closed with code \($0)" }
            ?? "the connection ended without a close frame"
        return FanfareError(
            .closed,
            reason.isEmpty ? what : "\(what): \(reason)",
            reason: reason,
            status: code
        )
    }

    static func unreachable(_ endpoint: Endpoint, reason: String) -> FanfareError {
        FanfareError(
            .unreachable,
            "no connection to \(endpoint): \(clause(reason))",
            advice:
                "Check host and port, and that the broker is running; for wss, that this is its TLS port.",
            reason: reason
        )
    }

    static func untrusted(_ endpoint: Endpoint, reason: String) -> FanfareError {
        FanfareError(
            .untrusted,
            "\(endpoint) is not trusted: \(clause(reason))",
            advice: """
                Check that the certificate names the host and has not expired, and that ClientOptions.trust contains it or \
                the authority that signed it.
                """,
            reason: reason
        )
    }

    static func proxyFailed(reason: String) -> FanfareError {
        FanfareError(.proxyFailed, reason, reason: reason)
    }

    static func upgradeRefused(_ endpoint: Endpoint, reason: String) -> FanfareError {
        FanfareError(
            .upgradeRefused,
            "\(endpoint) did not answer as a broker: \(clause(reason))",
            advice: "Check port and path prefix, and that a proxy in between allows WebSocket.",
            reason: reason
        )
    }

    static func protocolViolation(_ text: String) -> FanfareError {
        FanfareError(.protocolViolation, "protocol violation: \(text)", reason: text)
    }

    static func connectTimedOut(_ endpoint: Endpoint, limit: Duration) -> FanfareError {
        FanfareError(
            .connectTimedOut,
            "\(endpoint) did not accept the connection within \(limit)"
        )
    }

    static func pingUnanswered(limit: Duration) -> FanfareError {
        FanfareError(
            .pingUnanswered,
            "the connection is dead: no answer to a ping within \(limit)"
        )
    }

    static func reported(code: Int?, message: String) -> FanfareError {
        FanfareError(
            .reported,
            "the broker reports: \(message)\(code.map { " (\($0))" } ?? "")",
            reason: message,
            status: code
        )
    }

    static func subscriptionRefused(
        channel: String,
        kind: String,
        message: String,
        status: Int?
    ) -> FanfareError {
        FanfareError(
            .subscriptionRefused,
            """
            the broker refuses the subscription to \(channel): \(message) (\(kind)\
            \(status.map { ", \($0)" } ?? ""))
            """,
            advice: isOverload(status)
                ? "The client tries again after a delay."
                : "The client retries on the next connection.",
            reason: message,
            status: status,
            channel: channel
        )
    }

    /// Whether a broker's status means that it is overloaded: a later attempt may succeed.
    ///
    /// Without a status the reason is
    /// unknown.
    static func isOverload(_ status: Int?) -> Bool {
        status.map { $0 == 429 || $0 >= 500 } ?? false
    }

    static func authorizationFailed(
        channel: String,
        _ failure: AuthorizationFailure
    ) -> FanfareError {
        FanfareError(
            .authorizationFailed,
            "no authorisation for \(channel): \(clause(failure.description))",
            advice: failure.isTemporary
                ? "The client tries again after a delay."
                : "The client retries on the next connection.",
            reason: failure.description,
            status: failure.status,
            channel: channel
        )
    }

    static func decrypterMissing(channel: String) -> FanfareError {
        FanfareError(
            .decrypterMissing,
            "\(channel) is encrypted",
            advice:
                "Import FanfareEncryption and set ClientOptions.decrypter to SecretBoxDecrypter().",
            channel: channel
        )
    }

    static func undecryptable(event: ChannelEvent, reason: String) -> FanfareError {
        FanfareError(
            .undecryptable,
            "\(event.name) on \(event.channel ?? "") was skipped: \(reason)",
            reason: reason,
            channel: event.channel,
            event: event
        )
    }

    static func signInFailed(_ failure: AuthorizationFailure) -> FanfareError {
        FanfareError(
            .signInFailed,
            "the user is not signed in: \(failure)",
            reason: failure.description,
            status: failure.status
        )
    }

    static func signInRefused(message: String) -> FanfareError {
        FanfareError(
            .signInRefused,
            "the broker does not sign the user in: \(message)",
            reason: message
        )
    }

    static func clientEventRefused(
        event: String,
        channel: String,
        reason: String
    ) -> FanfareError {
        FanfareError(
            .clientEventRefused,
            "\(event) was not sent to \(channel): \(reason)",
            reason: reason,
            channel: channel
        )
    }

    static func clientEventsDropped(
        channel: String,
        events: [String],
        reason: String
    ) -> FanfareError {
        FanfareError(
            .clientEventsDropped,
            "\(events.count) queued events for \(channel) were dropped (\(events.joined(separator: ", "))): \(reason)",
            reason: reason,
            channel: channel
        )
    }

    static func undecodable(event: ChannelEvent, type: String, reason: String) -> FanfareError {
        FanfareError(
            .undecodable,
            "the data of \(event.name) is not a \(type): \(reason)",
            reason: reason,
            channel: event.channel,
            event: event
        )
    }

    static let disconnected = FanfareError(.disconnected, "disconnect() was called")

    static func unsubscribed(channel: String) -> FanfareError {
        FanfareError(
            .unsubscribed,
            "the app unsubscribed from \(channel)",
            channel: channel
        )
    }

    /// Returns a reason without its final full stop, to put it inside a sentence.
    private static func clause(_ reason: String) -> Substring {
        reason.hasSuffix(".") ? reason.dropLast() : reason[...]
    }
}

/// An invalid option: an endpoint, certificates, a pin or a proxy.
public struct InvalidOption: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong, where, and what is expected.
    public let description: String

    init(_ description: String) { self.description = description }
}
