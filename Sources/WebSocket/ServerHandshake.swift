/// The server's side of the opening handshake (RFC 6455 §4.2): validates a parsed HTTP request.
///
/// ```swift
/// let upgrade = try ServerHandshake().accept(method: "GET", minorVersion: 1) {
///     head.forEachField($0)
/// }
/// stream.write(upgrade.response)
/// ```
///
/// The caller checks whether the request's target exists (404).
public struct ServerHandshake: Sendable {
    /// The server's subprotocols, of which the first of the client's list is chosen.
    public var subprotocols: [String]
    /// The compression options; `nil` to decline every offer.
    public var deflate: DeflateOptions?
    /// The origins whose pages may connect (§10.2), case-insensitive; `nil` for all.
    ///
    /// A client that is not a browser sends no origin and is accepted.
    public var origins: [String]?

    /// Makes a handshake.
    ///
    /// - Parameters:
    ///   - subprotocols: The server's subprotocols, in any order.
    ///   - deflate: The compression options; `nil` for no compression.
    ///   - origins: The allowed origins, like `https://example.com`; `nil` for any.
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
        /// The agreed subprotocol; `nil` for none.
        public let subprotocol: String?
        /// The agreed compression; `nil` for none.
        public let deflate: NegotiatedDeflate?
        fileprivate let accept: String
        fileprivate let extensions: String?

        /// The response, to be sent before any frame.
        public var response: [UInt8] {
            var bytes: [UInt8] = []
            bytes.reserveCapacity(256)
            appendResponse(to: &bytes)
            return bytes
        }

        /// Appends the response, so that the first frame can follow in the same buffer.
        public func appendResponse(to bytes: inout [UInt8]) {
            bytes.append(
                """
                HTTP/1.1 101 Switching Protocols\r
                Upgrade: websocket\r
                Connection: Upgrade\r
                Sec-WebSocket-Accept:\u{20}
                """
            )
            bytes.append(contentsOf: accept.utf8)
            if let subprotocol {
                bytes.append("\r\nSec-WebSocket-Protocol: ")
                bytes.append(contentsOf: subprotocol.utf8)
            }
            if let extensions {
                bytes.append("\r\nSec-WebSocket-Extensions: ")
                bytes.append(contentsOf: extensions.utf8)
            }
            bytes.append("\r\n\r\n")
        }

        /// The fields of the response with status 101, in order.
        public var fields: [HandshakeField] {
            var fields = [
                HandshakeField("Upgrade", "websocket"), HandshakeField("Connection", "Upgrade"),
                HandshakeField("Sec-WebSocket-Accept", accept),
            ]
            if let subprotocol {
                fields.append(HandshakeField("Sec-WebSocket-Protocol", subprotocol))
            }
            if let extensions {
                fields.append(HandshakeField("Sec-WebSocket-Extensions", extensions))
            }
            return fields
        }
    }

    /// Validates a request whose fields are accessed by name.
    ///
    /// - Parameters:
    ///   - method: The method in the request line.
    ///   - minorVersion: The minor version of HTTP/1.
    ///   - fields: Returns all values of a field, one per header line, by its lower-case name.
    /// - Returns: The agreed parameters, and the response.
    /// - Throws: The error in the request, with the response to it.
    public func accept(
        method: String,
        minorVersion: Int,
        fields: (_ lowercasedName: String) -> [String]
    ) throws(HandshakeRefusal) -> Acceptance {
        try accept(method: method, minorVersion: minorVersion) { body in
            for name in HandshakeRequest.fieldNames {
                let nameBytes = name.utf8
                for value in fields(name) {
                    let valueBytes = value.utf8
                    body(nameBytes.span, valueBytes.span)
                }
            }
        }
    }

    /// Validates a request whose fields are enumerated.
    ///
    /// - Parameters:
    ///   - method: The method in the request line.
    ///   - minorVersion: The minor version of HTTP/1.
    ///   - forEachField: Calls its argument with each header line, in order: the name in any capitalization, and the
    ///     value without space around it.
    /// - Returns: The agreed parameters, and the response.
    /// - Throws: The error in the request, with the response to it.
    public func accept(
        method: String,
        minorVersion: Int,
        forEachField: ((_ name: Span<UInt8>, _ value: Span<UInt8>) -> Void) -> Void
    ) throws(HandshakeRefusal) -> Acceptance {
        guard method == "GET" else { throw .method(method) }
        guard minorVersion >= 1 else { throw .httpVersion }
        var request = HandshakeRequest()
        forEachField { name, value in request.parse(name, value) }
        guard request.hostCount == 1 else { throw .host }
        guard request.asksForWebSocket else { throw .upgrade }
        guard request.asksForUpgrade else { throw .connection }
        guard request.versionCount == 1 else { throw .versionMissing }
        if let version = request.otherVersion { throw .version(version) }
        guard let accept = request.accept else { throw .key }
        try check(request.origins)
        let subprotocol = try subprotocol(request.subprotocols)
        let response = try deflateResponse(request.extensions)
        return Acceptance(
            subprotocol: subprotocol,
            deflate: response.flatMap { deflate?.negotiated($0, role: .server) },
            accept: accept,
            extensions: response?.text
        )
    }

    private func check(_ given: [String]) throws(HandshakeRefusal) {
        guard let origins else { return }
        for origin in given {
            guard
                origins.contains(where: {
                    $0.lowercased().utf8.elementsEqual(origin.lowercased().utf8)
                })
            else {
                throw .origin(origin)
            }
        }
    }

    private func subprotocol(_ asked: [String]?) throws(HandshakeRefusal) -> String? {
        if asked?.isEmpty == true { return nil }
        // §4.1: the names must all be different.
        guard let asked, Set(asked).count == asked.count else { throw .subprotocols }
        return asked.first { subprotocols.contains($0) }
    }

    /// Returns the response to the first offer of compression that can be accepted.
    private func deflateResponse(
        _ elements: [ExtensionElement]?
    ) throws(HandshakeRefusal) -> DeflateParameters? {
        guard let elements else { throw .extensions }
        guard let deflate, !elements.isEmpty else { return nil }
        // RFC 7692 §5.1: an offer with invalid parameters is declined, not an error.
        let offer = elements.lazy
            .filter { $0.name == DeflateParameters.extensionName }
            .compactMap { DeflateParameters($0) }
            .first
        return offer.map { deflate.response(to: $0) }
    }
}
