import Digests
import Primitives

/// The client's side of the opening handshake (RFC 6455 §4.1): writes the request, judges the answer.
public struct ClientHandshake: Sendable {
    /// The request, to be sent as it is.
    public let request: [UInt8]
    private let key: String
    private let subprotocols: [String]
    private let deflate: DeflateOptions?

    /// A request for a WebSocket.
    ///
    /// - Parameters:
    ///   - host: For the `Host` field: with the port unless it is the scheme's own.
    ///   - target: Path and query, beginning with `/`; percent-encoded.
    ///   - nonce: 16 random bytes, fresh for each connection.
    ///   - origin: Only for pages in a browser, and for those that pretend.
    ///   - subprotocols: What the client speaks, the preferred first.
    ///   - deflate: The compression to offer, if any.
    ///   - fields: More fields to send.
    /// - Throws: `unsendable` for a value that would break the request.
    public init(
        host: String,
        target: String,
        nonce: [UInt8],
        origin: String? = nil,
        subprotocols: [String] = [],
        deflate: DeflateOptions? = nil,
        fields: [HandshakeField] = []
    ) throws(HandshakeFailure) {
        precondition(nonce.count == 16, "the nonce of RFC 6455 §4.1 is 16 bytes long")
        key = Base64.encode(nonce)
        self.subprotocols = subprotocols
        self.deflate = deflate
        var all = [
            HandshakeField("Host", host), HandshakeField("Upgrade", "websocket"),
            HandshakeField("Connection", "Upgrade"), HandshakeField("Sec-WebSocket-Key", key),
            HandshakeField("Sec-WebSocket-Version", "13"),
        ]
        if let origin { all.append(HandshakeField("Origin", origin)) }
        if !subprotocols.isEmpty {
            let list = subprotocols.joined(separator: ", ")
            let isList = FieldScanner.tokens([list]) == subprotocols
            guard isList, Set(subprotocols).count == subprotocols.count else {
                throw .unsendable("Sec-WebSocket-Protocol")
            }
            all.append(HandshakeField("Sec-WebSocket-Protocol", list))
        }
        if let deflate {
            all.append(HandshakeField("Sec-WebSocket-Extensions", deflate.offer.text))
        }
        all += fields
        let hasSpace = target.utf8.contains { $0 <= 0x20 || $0 == 0x7F }
        guard target.utf8.first == UInt8(ascii: "/"), !hasSpace else { throw .unsendable("target") }
        for field in all {
            let isSendable =
                !field.name.isEmpty && field.name.utf8.allSatisfy(OctetSet.token.contains)
                && field.value.utf8.allSatisfy { ($0 >= 0x20 || $0 == 0x09) && $0 != 0x7F }
            guard isSendable else { throw .unsendable(field.name) }
        }
        request = HandshakeField.head("GET \(target) HTTP/1.1", all)
    }

    /// What both sides agreed.
    public struct Agreement: Sendable, Hashable {
        /// The subprotocol that both sides will speak.
        public let subprotocol: String?
        /// How messages will be compressed.
        public let deflate: NegotiatedDeflate?
    }

    /// Judges the server's answer; the first frame may follow its empty line at once.
    ///
    /// - Parameters:
    ///   - status: Of the response.
    ///   - fields: All values of a field, one a header line, by its lower-case name.
    /// - Returns: What was agreed.
    /// - Throws: Why there is no WebSocket; then the connection must be closed without a frame.
    public func verify(
        status: Int,
        fields: (_ lowercasedName: String) -> [String]
    ) throws(HandshakeFailure) -> Agreement {
        guard status == 101 else { throw .status(status) }
        guard fields("upgrade").map({ $0.lowercased() }) == ["websocket"] else { throw .upgrade }
        guard FieldScanner.tokens(fields("connection"), contain: "upgrade") else {
            throw .connection
        }
        guard fields("sec-websocket-accept") == [HandshakeKey.accept(for: key)] else {
            throw .accept
        }
        let chosen = fields("sec-websocket-protocol")
        guard chosen.count <= 1, chosen.allSatisfy({ subprotocols.contains($0) }) else {
            throw .subprotocol(chosen.joined(separator: ", "))
        }
        let lines = fields("sec-websocket-extensions")
        guard let extensions = ExtensionElement.parse(lines) else { throw .malformedExtensions }
        return Agreement(subprotocol: chosen.first, deflate: try agreed(extensions, lines))
    }

    /// Nothing may be agreed that was not offered (§4.1, step 5 of what a client checks).
    private func agreed(
        _ extensions: [ExtensionElement],
        _ lines: [String]
    ) throws(HandshakeFailure) -> NegotiatedDeflate? {
        guard let first = extensions.first else { return nil }
        guard let deflate, extensions.count == 1, first.name == DeflateParameters.extensionName,
            let response = DeflateParameters(first), deflate.isAnswered(by: response)
        else { throw .extensions(lines.joined(separator: ", ")) }
        return deflate.negotiated(response, role: .client)
    }
}
