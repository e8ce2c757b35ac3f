import Primitives

/// A request to send.
public struct Request: Sendable, Equatable {
    /// The method.
    public var method: Method

    /// Path and query, percent-encoded: the origin form of RFC 9112 §3.2.1.
    public var target: String

    /// The value of Host: the host, with the port if it is not the scheme's default.
    public var host: String

    /// The fields except Host, Content-Length and Connection.
    public var fields: [Field]

    /// The content.
    public var body: [UInt8]

    /// Whether the connection should stay open for another request.
    public var keepAlive: Bool

    /// Makes a request.
    ///
    /// The target is percent-encoded, `host` is the value of Host, and the fields do not include those that the writer
    /// adds.
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

    /// Encodes the request.
    ///
    /// Content-Length is added if there is content, and for methods that usually have content (RFC 9110 §8.6).
    ///
    /// - Returns: The bytes to send.
    /// - Throws: `.requestLineMalformed`, `.targetMalformed`, `.hostMalformed`, `.fieldNameMalformed` or
    ///   `.fieldValueMalformed` if a part contains characters that could be mistaken for its end.
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
            switch FieldSetter(field.name) {
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
