/// An error in a client's opening handshake, and the response to it (RFC 6455 §4.2.2).
public enum HandshakeRefusal: Error, Hashable, Sendable {
    /// The method is not GET.
    case method(String)
    /// The version is HTTP/1.0, which has no upgrade.
    case httpVersion
    /// `Host` is missing or repeated.
    case host
    /// `Upgrade` does not contain `websocket`, so it is an ordinary request.
    case upgrade
    /// `Connection` does not contain `Upgrade`.
    case connection
    /// `Sec-WebSocket-Version` is missing or repeated.
    case versionMissing
    /// The WebSocket version is not 13.
    case version(String)
    /// `Sec-WebSocket-Key` is missing, repeated or not 16 bytes in Base64.
    case key
    /// The page's origin is not allowed.
    case origin(String)
    /// `Sec-WebSocket-Protocol` is not a list of different tokens.
    case subprotocols
    /// `Sec-WebSocket-Extensions` is malformed.
    case extensions

    /// The HTTP status of the response.
    public var status: Int {
        switch self {
        case .method: 405
        case .upgrade, .version: 426
        case .origin: 403
        default: 400
        }
    }

    /// The fields that the response must have, in addition to those of every response with content.
    public var fields: [HandshakeField] {
        switch self {
        case .method: [HandshakeField("Allow", "GET")]
        // RFC 9110 §15.5.22: a 426 contains the required protocol in Upgrade.
        case .upgrade:
            [HandshakeField("Upgrade", "websocket"), HandshakeField("Connection", "Upgrade")]
        case .version:
            [
                HandshakeField("Upgrade", "websocket"), HandshakeField("Connection", "Upgrade"),
                HandshakeField("Sec-WebSocket-Version", "13"),
            ]
        case .versionMissing: [HandshakeField("Sec-WebSocket-Version", "13")]
        default: []
        }
    }
}

extension HandshakeRefusal: CustomStringConvertible {
    /// A sentence for the content of the response.
    public var description: String {
        switch self {
        case .method(let method): "A WebSocket is opened with GET, not \(method)."
        case .httpVersion: "A WebSocket is opened with HTTP/1.1."
        case .host: "The request needs exactly one Host field."
        case .upgrade: "This is a WebSocket: the request needs 'Upgrade: websocket'."
        case .connection: "The request needs 'Connection: Upgrade'."
        case .versionMissing: "The request needs exactly one 'Sec-WebSocket-Version: 13'."
        case .version(let version): "WebSocket version 13 is supported, not \(version)."
        case .key: "The request needs exactly one Sec-WebSocket-Key of 16 bytes in Base64."
        case .origin(let origin): "Pages of \(origin) may not connect."
        case .subprotocols: "Sec-WebSocket-Protocol is not a list of different tokens."
        case .extensions: "Sec-WebSocket-Extensions breaks the grammar of RFC 6455, section 9.1."
        }
    }
}

/// The reason why a client's opening handshake failed (RFC 6455 §4.1).
public enum HandshakeFailure: Error, Hashable, Sendable {
    /// A value would make the request malformed. The associated value is the name of its field, or `target`.
    case unsendable(String)
    /// The server answered with a status other than 101, such as a redirect or 401.
    case status(Int)
    /// `Upgrade` is not `websocket`.
    case upgrade
    /// `Connection` does not contain `Upgrade`.
    case connection
    /// `Sec-WebSocket-Accept` does not match the key.
    case accept
    /// The server chose a subprotocol that was not requested, or several.
    case subprotocol(String)
    /// `Sec-WebSocket-Extensions` is malformed.
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
