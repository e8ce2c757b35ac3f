/// An error of a client.
///
/// Its description says what to do about it.
public enum FanfareError: Error, Sendable, Hashable {
    /// The broker refused the connection with a code that forbids reconnecting unchanged (4000–4099).
    case refused(code: Int, message: String)
    /// The broker or an intermediary closed the connection; `code` is the close frame's, `nil` without a close frame.
    case closed(code: Int?, reason: String)
    /// The connection could not be opened: name lookup, TCP or TLS failed.
    case unreachable(Endpoint, reason: String)
    /// The broker's certificate is not trusted, or the certificates of ``ClientOptions/trust`` cannot be read.
    case untrusted(Endpoint, reason: String)
    /// The proxy of ``ClientOptions/proxy`` was not reached, or refused the connection.
    case proxyFailed(reason: String)
    /// The server refused the WebSocket handshake: it is not a broker, or has none at this path.
    case upgradeRefused(Endpoint, reason: String)
    /// The broker broke a rule of WebSocket or of the Pusher protocol.
    case protocolViolation(String)
    /// The broker's first message did not arrive within `limit`.
    case connectTimedOut(Endpoint, limit: Duration)
    /// No answer to a ping arrived within `limit`.
    case pingUnanswered(limit: Duration)
    /// A `pusher:error` message that leaves the connection open.
    case reported(code: Int?, message: String)
    /// The broker refused a subscription; `kind` is the error's type, such as `AuthError`.
    case subscriptionRefused(channel: String, kind: String, message: String, status: Int?)
    /// The app's backend did not authorise a subscription, or the request failed.
    case authorizationFailed(channel: String, AuthorizationFailure)
    /// The channel is encrypted, and ``ClientOptions/decrypter`` is `nil`.
    case decrypterMissing(channel: String)
    /// An encrypted event could not be decrypted, even with a fresh key; it was skipped.
    case undecryptable(event: ChannelEvent, reason: String)
    /// The app's backend did not authenticate the user, or the request failed.
    case signInFailed(AuthorizationFailure)
    /// The broker refused the sign-in.
    case signInRefused(message: String)
    /// A client event was refused; it will not be sent.
    case clientEventRefused(event: String, channel: String, reason: String)
    /// Queued client events were dropped; they will not be sent.
    case clientEventsDropped(channel: String, events: [String], reason: String)
    /// The data of an event cannot be decoded as the requested type.
    case undecodable(event: ChannelEvent, type: String, reason: String)
    /// A sequence was read too slowly: its buffer of `limit` events was full.
    case overflow(limit: Int)
    /// ``FanfareClient/disconnect()`` was called.
    case disconnected
    /// The app unsubscribed from the channel.
    case unsubscribed(channel: String)
}

extension FanfareError: CustomStringConvertible {
    /// What happened and what to do, for a developer.
    public var description: String {
        switch self {
        case .refused(let code, let message):
            "the broker refuses the connection: \(message) (\(code)). \(Self.advice(code: code))"
        case .closed(let code?, let reason):
            "the connection was closed with code \(code)\(reason.isEmpty ? "" : ": \(reason)")"
        case .closed(nil, let reason):
            "the connection ended without a close frame\(reason.isEmpty ? "" : ": \(reason)")"
        case .unreachable(let endpoint, let reason):
            """
            no connection to \(endpoint): \(Self.clause(reason)). Check host and port, and that the broker \
            is running; for wss, that this is its TLS port.
            """
        case .untrusted(let endpoint, let reason):
            """
            \(endpoint) is not trusted: \(Self.clause(reason)). Check that the certificate names the host and \
            has not expired, and that ClientOptions.trust contains it or the authority that signed it.
            """
        case .proxyFailed(let reason): reason
        case .upgradeRefused(let endpoint, let reason):
            """
            \(endpoint) did not answer as a broker: \(Self.clause(reason)). Check port and path \
            prefix, and that a proxy in between allows WebSocket.
            """
        case .protocolViolation(let text):
            "protocol violation: \(text)"
        case .connectTimedOut(let endpoint, let limit):
            "\(endpoint) did not accept the connection within \(limit)"
        case .pingUnanswered(let limit):
            "the connection is dead: no answer to a ping within \(limit)"
        case .reported(let code, let message):
            "the broker reports: \(message)\(code.map { " (\($0))" } ?? "")"
        case .subscriptionRefused(let channel, let kind, let message, let status):
            """
            the broker refuses the subscription to \(channel): \(message) (\(kind)\
            \(status.map { ", \($0)" } ?? "")). The client retries on the next connection.
            """
        case .authorizationFailed(let channel, let failure):
            "no authorisation for \(channel): \(Self.clause(failure.description)). The client retries on the next connection."
        case .decrypterMissing(let channel):
            """
            \(channel) is encrypted: import FanfareEncryption and set ClientOptions.decrypter to SecretBoxDecrypter()
            """
        case .undecryptable(let event, let reason):
            "\(event.name) on \(event.channel ?? "") was skipped: \(reason)"
        case .signInFailed(let failure): "the user is not signed in: \(failure)"
        case .signInRefused(let message):
            "the broker does not sign the user in: \(message)"
        case .clientEventRefused(let event, let channel, let reason):
            "\(event) was not sent to \(channel): \(reason)"
        case .clientEventsDropped(let channel, let events, let reason):
            "\(events.count) queued events for \(channel) were dropped (\(events.joined(separator: ", "))): \(reason)"
        case .undecodable(let event, let type, let reason):
            "the data of \(event.name) is not a \(type): \(reason)"
        case .overflow(let limit):
            """
            \(limit) events were unread, and the next ones are lost. Read faster, use a larger \
            bufferLimit, or fetch the current state and start a new sequence.
            """
        case .disconnected:
            "disconnect() was called"
        case .unsubscribed(let channel):
            "the app unsubscribed from \(channel)"
        }
    }

    /// Returns a reason without its final full stop, to put it inside a sentence.
    private static func clause(_ reason: String) -> Substring {
        reason.hasSuffix(".") ? reason.dropLast() : reason[...]
    }

    private static func advice(code: Int) -> String {
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
    }
}

/// An invalid option: certificates, a pin or a proxy.
public struct InvalidOption: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong, where, and what is expected.
    public let description: String

    init(_ description: String) { self.description = description }
}
