/// What went wrong, and what to do about it.
public enum FanfareError: Error, Sendable, Hashable {
    /// The broker does not want this connection as it is (codes 4000–4099).
    case refused(code: Int, message: String)
    /// The broker, or something on the way to it, closed the connection; `code` is that of the
    /// close frame, and `nil` when none came.
    case closed(code: Int?, reason: String)
    /// No connection came about: the name, the TCP connection or TLS failed.
    case unreachable(Endpoint, reason: String)
    /// The broker's certificate is not trusted, or what ``ClientOptions/trust`` names cannot be read.
    case untrusted(Endpoint, reason: String)
    /// The proxy of ``ClientOptions/proxy`` was not reached, or does not let the client through.
    case proxyFailed(reason: String)
    /// Something answered that is no broker, or not at this path.
    case upgradeRefused(Endpoint, reason: String)
    /// The other side broke a rule of WebSocket or of the Pusher protocol.
    case protocolViolation(String)
    /// The broker did not say its first message within `limit`.
    case connectTimedOut(Endpoint, limit: Duration)
    /// The connection went silent: no answer to a ping within `limit`.
    case pingUnanswered(limit: Duration)
    /// A `pusher:error` that leaves the connection open.
    case reported(code: Int?, message: String)
    /// The broker refuses a subscription; `kind` is its class, such as `AuthError`.
    case subscriptionRefused(channel: String, kind: String, message: String, status: Int?)
    /// The app's backend does not let the client into a channel, or could not be asked.
    case authorizationFailed(channel: String, AuthorizationFailure)
    /// The channel is encrypted, and the client has nothing to open its events with.
    case decrypterMissing(channel: String)
    /// An encrypted event could not be opened, also with a key that was just asked for; it was skipped.
    case undecryptable(event: ChannelEvent, reason: String)
    /// The app's backend does not say who the user is, or could not be asked.
    case signInFailed(AuthorizationFailure)
    /// The broker does not believe who the user is.
    case signInRefused(message: String)
    /// An event of this client was not sent, and will not be.
    case clientEventRefused(event: String, channel: String, reason: String)
    /// Events of this client that waited for their channel will not be sent.
    case clientEventsDropped(channel: String, events: [String], reason: String)
    /// The data of an event is not what was asked for.
    case undecodable(event: ChannelEvent, type: String, reason: String)
    /// A sequence was read more slowly than events came: `limit` of them were waiting.
    case overflow(limit: Int)
    /// ``FanfareClient/disconnect()`` was called.
    case disconnected
    /// The channel was unsubscribed from.
    case unsubscribed(channel: String)
}

extension FanfareError: CustomStringConvertible {
    /// What happened and what to do, in a sentence or two for a developer.
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
            runs; for wss, that this is its port for TLS.
            """
        case .untrusted(let endpoint, let reason):
            """
            \(endpoint) is not trusted: \(Self.clause(reason)). Check that the certificate names the host and \
            has not expired, and that ClientOptions.trust names it or the authority that signed it.
            """
        case .proxyFailed(let reason): reason
        case .upgradeRefused(let endpoint, let reason):
            """
            \(endpoint) does not answer as a broker does: \(Self.clause(reason)). Check port and path \
            prefix, and that a proxy on the way lets WebSocket through.
            """
        case .protocolViolation(let text):
            "the other side broke the protocol: \(text)"
        case .connectTimedOut(let endpoint, let limit):
            "\(endpoint) did not open a connection within \(limit)"
        case .pingUnanswered(let limit):
            "the connection is dead: no answer to a ping within \(limit)"
        case .reported(let code, let message):
            "the broker reports: \(message)\(code.map { " (\($0))" } ?? "")"
        case .subscriptionRefused(let channel, let kind, let message, let status):
            """
            the broker refuses the subscription to \(channel): \(message) (\(kind)\
            \(status.map { ", \($0)" } ?? "")). It is tried again with the next connection.
            """
        case .authorizationFailed(let channel, let failure):
            "no authorisation for \(channel): \(Self.clause(failure.description)). It is tried again with the next connection."
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
            "\(events.count) events that waited for \(channel) are lost (\(events.joined(separator: ", "))): \(reason)"
        case .undecodable(let event, let type, let reason):
            "the data of \(event.name) is no \(type): \(reason)"
        case .overflow(let limit):
            """
            \(limit) events waited to be read, and the next ones are lost. Read faster, ask for a \
            longer buffer, or fetch the current state and begin a new sequence.
            """
        case .disconnected:
            "the client was disconnected by a call of disconnect()"
        case .unsubscribed(let channel):
            "\(channel) was unsubscribed from"
        }
    }

    /// A reason inside a sentence: without the full stop that it has as a sentence of its own.
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
        case 4006...4008: "Broker and client do not speak the same version of the protocol."
        case 4009: "Sign in again, or check the allowed origins."
        default: "Mend the cause, then call connect() again."
        }
    }
}
