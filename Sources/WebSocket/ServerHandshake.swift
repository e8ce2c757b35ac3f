/// The server's side of the opening handshake (RFC 6455 §4.2): judges a parsed HTTP request.
///
/// ```swift
/// let upgrade = try ServerHandshake().accept(method: head.method, minorVersion: 1) {
///     head.fields($0)
/// }
/// stream.write(upgrade.response)
/// ```
///
/// Whether there is a WebSocket at the request's target is for the caller to say (404).
public struct ServerHandshake: Sendable {
    /// The subprotocols that the server speaks; of those the client asks for, its first known wins.
    public var subprotocols: [String]
    /// How messages may be compressed; `nil` to decline every offer.
    public var deflate: DeflateOptions?
    /// The origins whose pages may connect (§10.2), or `nil` for all; in whatever case.
    ///
    /// A client that is not a browser sends no origin and is let in.
    public var origins: [String]?

    /// A handshake with what the server supports.
    ///
    /// - Parameters:
    ///   - subprotocols: Their names, in any order.
    ///   - deflate: How messages may be compressed, if at all.
    ///   - origins: Like `https://example.com`, or `nil` for any.
    public init(
        subprotocols: [String] = [],
        deflate: DeflateOptions? = nil,
        origins: [String]? = nil
    ) {
        self.subprotocols = subprotocols
        self.deflate = deflate
        self.origins = origins
    }

    /// An accepted request.
    public struct Acceptance: Sendable, Hashable {
        /// The subprotocol that both sides will speak.
        public let subprotocol: String?
        /// How messages will be compressed.
        public let deflate: NegotiatedDeflate?
        /// The fields of the answer with status 101, in order.
        public let fields: [HandshakeField]

        /// The answer, to be sent as it is before any frame.
        public var response: [UInt8] {
            HandshakeField.head("HTTP/1.1 101 Switching Protocols", fields)
        }
    }

    /// Judges a request.
    ///
    /// - Parameters:
    ///   - method: As in the request line.
    ///   - minorVersion: Of HTTP/1.
    ///   - fields: All values of a field, one a header line, by its lower-case name.
    /// - Returns: What was agreed, and the answer.
    /// - Throws: What is wrong with the request, and the answer to send instead.
    public func accept(
        method: String,
        minorVersion: Int,
        fields: (_ lowercasedName: String) -> [String]
    ) throws(HandshakeRefusal) -> Acceptance {
        guard method == "GET" else { throw .method(method) }
        guard minorVersion >= 1 else { throw .httpVersion }
        guard fields("host").count == 1 else { throw .host }
        let key = try key(fields)
        try checkOrigin(fields)

        var answer = [
            HandshakeField("Upgrade", "websocket"), HandshakeField("Connection", "Upgrade"),
            HandshakeField("Sec-WebSocket-Accept", HandshakeKey.accept(for: key)),
        ]
        let subprotocol = try subprotocol(fields)
        if let subprotocol { answer.append(HandshakeField("Sec-WebSocket-Protocol", subprotocol)) }
        let response = try deflateResponse(fields)
        if let response { answer.append(HandshakeField("Sec-WebSocket-Extensions", response.text)) }
        let negotiated = response.flatMap { deflate?.negotiated($0, role: .server) }
        return Acceptance(subprotocol: subprotocol, deflate: negotiated, fields: answer)
    }

    /// The client's key, once it is certain that a WebSocket of version 13 is asked for (§4.2.1).
    private func key(_ fields: (String) -> [String]) throws(HandshakeRefusal) -> String {
        guard FieldScanner.tokens(fields("upgrade"), contain: "websocket") else { throw .upgrade }
        guard FieldScanner.tokens(fields("connection"), contain: "upgrade") else {
            throw .connection
        }
        let versions = fields("sec-websocket-version")
        guard versions.count == 1 else { throw .versionMissing }
        guard versions[0] == "13" else { throw .version(versions[0]) }
        let keys = fields("sec-websocket-key")
        guard keys.count == 1, HandshakeKey.isValid(keys[0]) else { throw .key }
        return keys[0]
    }

    private func checkOrigin(_ fields: (String) -> [String]) throws(HandshakeRefusal) {
        guard let origins else { return }
        for origin in fields("origin") {
            guard origins.contains(where: { $0.lowercased() == origin.lowercased() }) else {
                throw .origin(origin)
            }
        }
    }

    private func subprotocol(_ fields: (String) -> [String]) throws(HandshakeRefusal) -> String? {
        let lines = fields("sec-websocket-protocol")
        // §4.1: the names must all be different.
        guard let asked = FieldScanner.tokens(lines), Set(asked).count == asked.count else {
            throw .subprotocols
        }
        return asked.first { subprotocols.contains($0) }
    }

    /// The answer to the first offer of compression that can be accepted.
    private func deflateResponse(
        _ fields: (String) -> [String]
    ) throws(HandshakeRefusal) -> DeflateParameters? {
        guard let elements = ExtensionElement.parse(fields("sec-websocket-extensions")) else {
            throw .extensions
        }
        guard let deflate else { return nil }
        // RFC 7692 §5.1: an offer with wrong parameters is passed over, not an error.
        let offer = elements.lazy
            .filter { $0.name == DeflateParameters.extensionName }
            .compactMap { DeflateParameters($0) }
            .first
        return offer.map { deflate.response(to: $0) }
    }
}
