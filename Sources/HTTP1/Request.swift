import Primitives

/// A request to send: the client's side of ``RequestHead``.
public struct Request: Sendable, Equatable {
    /// What is to be done.
    public var method: Method

    /// Path and query, percent-encoded: the origin form of RFC 9112 §3.2.1.
    public var target: String

    /// The value of Host: a host, with a port when it is not the scheme's own.
    public var host: String

    /// Fields apart from Host, Content-Length and Connection.
    public var fields: [Field]

    /// The content.
    public var body: [UInt8]

    /// Whether the connection is to stay open for another request.
    public var keepAlive: Bool

    /// Makes a request.
    ///
    /// - Parameters:
    ///   - method: What is to be done.
    ///   - target: Path and query, percent-encoded.
    ///   - host: The value of Host.
    ///   - fields: Fields apart from those that the writer adds.
    ///   - body: The content.
    ///   - keepAlive: Whether the connection is to stay open.
    public init(
        _ method: Method,
        _ target: String,
        host: String,
        fields: [Field] = [],
        body: [UInt8] = [],
        keepAlive: Bool = true
    ) {
        self.method = method
        self.target = target
        self.host = host
        self.fields = fields
        self.body = body
        self.keepAlive = keepAlive
    }

    /// Writes the request.
    ///
    /// Content-Length is there when there is content, and for methods that usually have some
    /// (RFC 9110 §8.6).
    ///
    /// - Returns: The bytes to send.
    /// - Throws: `.requestLineMalformed`, `.targetMalformed`, `.hostMalformed`,
    ///   `.fieldNameMalformed` or `.fieldValueMalformed` when a part holds what could be taken for
    ///   the end of it.
    public func encode() throws(HTTPError) -> [UInt8] {
        let name = Array(method.description.utf8)
        guard !name.isEmpty, name.allSatisfy(OctetSet.token.contains) else {
            throw .requestLineMalformed
        }
        let targetBytes = Array(target.utf8)
        _ = try RequestTarget(targetBytes.span, 0..<targetBytes.count, method: method)
        let hostBytes = Array(host.utf8)
        guard RequestTarget.isAuthority(hostBytes.span, 0..<hostBytes.count) else {
            throw .hostMalformed(host)
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(256 + targetBytes.count + body.count)
        bytes += name
        bytes.append(Octet.space)
        bytes += targetBytes
        bytes.append(contentsOf: " HTTP/1.1\r\nHost: ".utf8)
        bytes += hostBytes
        bytes.append(contentsOf: "\r\n".utf8)
        var hasUpgrade = false
        for field in fields {
            guard !field.name.isEmpty, field.name.utf8.allSatisfy(OctetSet.token.contains) else {
                throw .fieldNameMalformed
            }
            guard field.value.utf8.allSatisfy(Octet.isFieldValue) else {
                throw .fieldValueMalformed(field: field.name)
            }
            switch FieldOwner(field.name) {
            case .writer where field.name.lowercased() != "date": continue
            case .upgrade: hasUpgrade = true
            default: break
            }
            if field.name.lowercased() == "host" { continue }
            bytes.append(field: field)
        }
        if !body.isEmpty || [.post, .put, .patch].contains(method) {
            bytes.append(contentsOf: "Content-Length: ".utf8)
            bytes.append(decimal: body.count)
            bytes.append(contentsOf: "\r\n".utf8)
        }
        if hasUpgrade {
            bytes.append(contentsOf: "Connection: Upgrade\r\n".utf8)
        } else if !keepAlive {
            bytes.append(contentsOf: "Connection: close\r\n".utf8)
        }
        bytes.append(contentsOf: "\r\n".utf8)
        bytes += body
        return bytes
    }
}
