import Digests
import Primitives

/// The client's side of the opening handshake (RFC 6455 §4.1): makes the request, and verifies the response.
public struct ClientHandshake: Sendable {
    /// The request to send.
    public let request: [UInt8]
    private let key: String
    private let subprotocols: [String]
    private let deflate: DeflateOptions?

    /// Makes the handshake of a new connection.
    ///
    /// - Parameters:
    ///   - host: The value of the `Host` field, with the port unless it is the scheme's default.
    ///   - target: The path and query, beginning with `/`, percent-encoded.
    ///   - nonce: 16 random bytes, new for each connection.
    ///   - origin: The origin; sent by browsers, and by clients that imitate one.
    ///   - subprotocols: The client's subprotocols, in order of preference.
    ///   - deflate: The compression to offer, if any.
    ///   - fields: Additional fields.
    /// - Throws: `unsendable` for a value that would make the request malformed.
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

    /// The parameters that both sides agreed on.
    public struct Agreement: Sendable, Hashable {
        /// The agreed subprotocol; `nil` for none.
        public let subprotocol: String?
        /// The agreed compression; `nil` for none.
        public let deflate: NegotiatedDeflate?
    }

    /// Verifies the server's response.
    ///
    /// The first frame may directly follow its empty line.
    ///
    /// - Parameters:
    ///   - status: The response's status code.
    ///   - fields: Returns all values of a field, one per header line, by its lower-case name.
    /// - Returns: The agreed parameters.
    /// - Throws: The reason why the handshake failed; the connection must be closed without a frame.
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

    /// Verifies that the server agreed to nothing that was not offered (§4.1, step 5 of the client's checks).
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
