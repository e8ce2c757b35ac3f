/// The texts of errors: what happened, and what to do about it.
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
                Check that the certificate names the host and has not expired, and that \
                ClientOptions.network.trust contains it or the authority that signed it.
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

    /// Whether a broker's status means that it is overloaded, so that a later attempt may succeed; `false` without one.
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

    static func outboxFailed(reason: String) -> FanfareError {
        FanfareError(
            .outboxFailed,
            "the outbox cannot be read or written: \(clause(reason))",
            advice:
                "Its events are sent from memory, and lost if the app ends before. Check the store.",
            reason: reason
        )
    }

    static func positionsFailed(reason: String) -> FanfareError {
        FanfareError(
            .positionsFailed,
            "the positions cannot be read or written: \(clause(reason))",
            advice: "The client continues from memory. Check the store.",
            reason: reason
        )
    }

    static func stateNotLoaded(channel: String, reason: String) -> FanfareError {
        FanfareError(
            .stateNotLoaded,
            "the state of \(channel) was not loaded: \(clause(reason))",
            advice: "The client tries again after a delay.",
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

    /// Returns a reason without its final full stop, for use inside a sentence.
    private static func clause(_ reason: String) -> Substring {
        reason.hasSuffix(".") ? reason.dropLast() : reason[...]
    }
}
