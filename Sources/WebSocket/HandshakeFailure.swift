/// Why a client's opening handshake made no WebSocket (RFC 6455 §4.1).
public enum HandshakeFailure: Error, Hashable, Sendable {
    /// A value cannot be sent: it would break the request. The name of its field, or `target`.
    case unsendable(String)
    /// The server answered with another status than 101; it may be a redirect or ask for a login.
    case status(Int)
    /// `Upgrade` is not `websocket`.
    case upgrade
    /// `Connection` does not name `Upgrade`.
    case connection
    /// `Sec-WebSocket-Accept` does not prove that the server read the key.
    case accept
    /// The server chose a subprotocol that was not asked for, or several.
    case subprotocol(String)
    /// `Sec-WebSocket-Extensions` breaks its grammar.
    case malformedExtensions
    /// The server agreed to an extension, or to parameters, that were not offered.
    case extensions(String)
}

extension HandshakeFailure: CustomStringConvertible {
    /// A sentence for a log.
    public var description: String {
        switch self {
        case .unsendable(let name): "The value of \(name) cannot stand in a request."
        case .status(let status): "The server answered with status \(status) instead of 101."
        case .upgrade: "The server's answer needs exactly one 'Upgrade: websocket'."
        case .connection: "The server's answer needs 'Connection: Upgrade'."
        case .accept: "Sec-WebSocket-Accept is not the answer to the key that was sent."
        case .subprotocol(let name): "The server chose subprotocol '\(name)', not asked for."
        case .malformedExtensions:
            "Sec-WebSocket-Extensions breaks the grammar of RFC 6455, section 9.1."
        case .extensions(let value): "The server agreed to '\(value)', which was not offered."
        }
    }
}
