/// What is wrong with a client's opening handshake, with the answer it gets (RFC 6455 §4.2.2).
public enum HandshakeRefusal: Error, Hashable, Sendable {
    /// Only GET opens a WebSocket.
    case method(String)
    /// HTTP/1.0 knows no upgrade.
    case httpVersion
    /// `Host` is missing or repeated.
    case host
    /// `Upgrade` does not name `websocket`: an ordinary request.
    case upgrade
    /// `Connection` does not name `Upgrade`.
    case connection
    /// `Sec-WebSocket-Version` is missing or repeated.
    case versionMissing
    /// A version other than 13.
    case version(String)
    /// `Sec-WebSocket-Key` is missing, repeated or not 16 bytes in Base64.
    case key
    /// The page's origin may not connect.
    case origin(String)
    /// `Sec-WebSocket-Protocol` is not a list of different tokens.
    case subprotocols
    /// `Sec-WebSocket-Extensions` breaks its grammar.
    case extensions

    /// The HTTP status to answer with.
    public var status: Int {
        switch self {
        case .method: 405
        case .upgrade, .version: 426
        case .origin: 403
        default: 400
        }
    }

    /// Fields that the answer must have, besides those of every answer with content.
    public var fields: [HandshakeField] {
        switch self {
        case .method: [HandshakeField("Allow", "GET")]
        // RFC 9110 §15.5.22: a 426 says what to upgrade to.
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
    /// A sentence for the content of the answer.
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
