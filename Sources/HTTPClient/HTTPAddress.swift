import Primitives

/// The address of a server: `http://127.0.0.1:6001`, `https://push.example.com/prefix`.
package struct HTTPAddress: Hashable, Sendable {
    /// Whether the connection is encrypted.
    package let isSecure: Bool
    /// A host name or an IP address, without brackets.
    package let host: String
    /// The port; by default 80 or 443.
    package let port: UInt16
    /// The prefix of every target, without a slash at its end; usually empty.
    package let pathPrefix: String

    /// Parses a URL.
    ///
    /// - Parameter url: An `http` or `https` URL with a host, an optional port and path, and nothing else.
    /// - Throws: `.invalidURL`.
    package init(_ url: String) throws(HTTPFailure) {
        let isSecure = url.lowercased().hasPrefix("https://")
        guard isSecure || url.lowercased().hasPrefix("http://") else { throw .invalidURL(url) }
        let rest = url.dropFirst(isSecure ? 8 : 7)
        let authority = rest.prefix { $0 != "/" }
        var path = rest.dropFirst(authority.count)
        while path.last == "/" { path = path.dropLast() }
        guard path.utf8.allSatisfy(HTTPAddress.isPathCharacter) else { throw .invalidURL(url) }
        guard let (host, port) = HTTPAddress.hostAndPort(authority) else {
            throw .invalidURL(url)
        }
        self.isSecure = isSecure
        self.host = host
        self.port = port ?? (isSecure ? 443 : 80)
        pathPrefix = String(path)
    }

    /// The value of the Host field, without the scheme's default port.
    package var hostField: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
    }

    /// The address as a URL, without a slash at its end.
    package var url: String { "\(isSecure ? "https" : "http")://\(hostField)\(pathPrefix)" }

    private static func hostAndPort(_ authority: Substring) -> (String, UInt16?)? {
        var host = authority
        var port: Substring?
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { return nil }
            host = authority[..<end].dropFirst()
            let behind = authority[authority.index(after: end)...]
            guard behind.isEmpty || behind.hasPrefix(":") else { return nil }
            if !behind.isEmpty { port = behind.dropFirst() }
        } else if let colon = authority.firstIndex(of: ":") {
            host = authority[..<colon]
            port = authority[authority.index(after: colon)...]
        }
        let isAddress = authority.hasPrefix("[")
        guard !host.isEmpty, host.utf8.allSatisfy({ isHostCharacter($0, inBrackets: isAddress) })
        else { return nil }
        guard let port else { return (String(host), nil) }
        guard port.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt16(port),
            number > 0
        else { return nil }
        return (String(host), number)
    }

    private static func isHostCharacter(_ byte: UInt8, inBrackets: Bool) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "_"):
            true
        case UInt8(ascii: ":"): inBrackets
        default: false
        }
    }

    /// Whether a byte may occur in a path (RFC 3986 §3.3), which excludes `?` and `#`.
    private static func isPathCharacter(_ byte: UInt8) -> Bool {
        isHostCharacter(byte, inBrackets: true) || "/~!$&'()*+,;=@%".utf8.contains(byte)
    }
}

/// A resource of a server: `https://example.com/pusher/auth?app=1`.
package struct HTTPResource: Hashable, Sendable {
    /// The server, without a path prefix.
    package let address: HTTPAddress
    /// Path and query.
    package let target: String

    /// Parses a URL; `nil` if it is not an `http` or `https` URL.
    ///
    /// - Parameters:
    ///   - url: The URL; its fragment is ignored.
    ///   - encodes: Whether bytes of path and query that are invalid in a URL, such as those of non-ASCII characters,
    ///     are percent-encoded; otherwise they make the URL invalid.
    package init?(_ url: String, encodes: Bool = false) {
        guard let mark = url.firstRange(of: "://") else { return nil }
        let behind = url[mark.upperBound...]
        let end = behind.firstIndex { "/?#".contains($0) } ?? behind.endIndex
        guard let address = try? HTTPAddress(String(url[..<end])) else { return nil }
        var target = behind[end...].prefix { $0 != "#" }
        if encodes { target = Self.encode(target)[...] }
        guard target.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
        self.address = address
        self.target = target.hasPrefix("/") ? String(target) : "/" + target
    }

    /// Percent-encodes the bytes that are invalid in a URL (RFC 3986 §2).
    private static func encode(_ target: Substring) -> String {
        var bytes: [UInt8] = []
        for byte in target.utf8 {
            if (0x21...0x7E).contains(byte), !"\"<>\\^`{|}".utf8.contains(byte) {
                bytes.append(byte)
            } else {
                PercentEncoding.append(byte, to: &bytes)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
