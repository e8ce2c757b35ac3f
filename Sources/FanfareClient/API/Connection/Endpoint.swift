/// The address of a broker.
///
/// ```swift
/// let local = try Endpoint("ws://127.0.0.1:6001")
/// let remote = Endpoint.secure(host: "realtime.example.com")
/// ```
public struct Endpoint: Sendable, Hashable {
    /// Whether the connection uses TLS (`wss`).
    package var isSecure: Bool
    /// A name or an address; an IPv6 address without brackets.
    package var host: String
    /// The TCP port.
    package var port: UInt16
    /// The path before `/app/KEY`: empty, or with a leading and without a trailing slash.
    package var pathPrefix: String

    /// Creates the address of a broker with TLS.
    public static func secure(
        host: String,
        port: UInt16 = 443,
        pathPrefix: String = ""
    ) -> Endpoint {
        Endpoint(isSecure: true, host: host, port: port, pathPrefix: pathPrefix)
    }

    /// Creates the address of a broker without TLS.
    ///
    /// Anyone on the network path can read and change the events.
    public static func plain(
        host: String,
        port: UInt16 = 80,
        pathPrefix: String = ""
    ) -> Endpoint {
        Endpoint(isSecure: false, host: host, port: port, pathPrefix: pathPrefix)
    }

    private init(isSecure: Bool, host: String, port: UInt16, pathPrefix: String) {
        self.isSecure = isSecure
        self.host = host
        self.port = port
        var prefix = pathPrefix[...]
        while prefix.last == "/" { prefix.removeLast() }
        self.pathPrefix = prefix.isEmpty || prefix.first == "/" ? String(prefix) : "/" + prefix
    }

    /// Reads `ws://HOST[:PORT][/PREFIX]` or `wss://…`.
    ///
    /// `http` and `https` mean the same as `ws` and `wss`, since the broker's HTTP API has the same address. The URL
    /// must not contain `/app/KEY`.
    ///
    /// - Parameter url: The URL.
    /// - Throws: ``InvalidOption``, which states the fault and the expected form.
    public init(_ url: String) throws(InvalidOption) {
        func fault(_ problem: String) -> InvalidOption {
            // A user name is not allowed, but the URL may have one, with a password.
            let shown =
                url.lastIndex(of: "@").map { "…" + url[$0...] } ?? url
            return InvalidOption(
                "\"\(shown)\" is not the address of a broker: \(problem). Expected ws://HOST:PORT or wss://HOST"
            )
        }
        guard let mark = url.firstRange(of: "://") else { throw fault("it has no scheme") }
        let scheme = url[..<mark.lowerBound]
        let isSecure: Bool
        switch scheme.lowercased() {
        case "ws", "http": isSecure = false
        case "wss", "https": isSecure = true
        default: throw fault("the scheme \(scheme) is not supported")
        }
        let rest = url[mark.upperBound...]
        if let character = rest.first(where: { "?#@ ".contains($0) }) {
            let part =
                switch character {
                case "@": "a user name"
                case "?": "a query"
                case "#": "a fragment"
                default: "a space"
                }
            throw fault("\(part) is not allowed")
        }
        let slash = rest.firstIndex(of: "/") ?? rest.endIndex
        guard let (host, port) = Endpoint.authority(rest[..<slash]) else {
            throw fault("\"\(rest[..<slash])\" is not a host with an optional port from 1 to 65535")
        }
        let prefix = rest[slash...]
        guard !(prefix + "/").contains("/app/") else {
            throw fault("the path must not contain /app/ and the key, which the client adds")
        }
        self.init(
            isSecure: isSecure,
            host: host,
            port: port ?? (isSecure ? 443 : 80),
            pathPrefix: String(prefix)
        )
    }

    /// Parses the host and the optional port (RFC 3986 §3.2).
    static func authority(_ text: Substring) -> (host: String, port: UInt16?)? {
        var host = text
        var port: Substring?
        if text.first == "[" {
            guard let end = text.firstIndex(of: "]") else { return nil }
            host = text[text.index(after: text.startIndex)..<end]
            let rest = text[text.index(after: end)...]
            guard rest.isEmpty || rest.first == ":" else { return nil }
            port = rest.isEmpty ? nil : rest.dropFirst()
        } else if let colon = text.firstIndex(of: ":") {
            host = text[..<colon]
            port = text[text.index(after: colon)...]
        }
        guard !host.isEmpty else { return nil }
        guard let port else { return (String(host), nil) }
        guard port.allSatisfy({ ("0"..."9").contains($0) }), let number = UInt16(port), number > 0
        else { return nil }
        return (String(host), number)
    }

    /// Host and port as in the `Host` field and in messages; the scheme's default port is left out.
    var authority: String {
        port == (isSecure ? 443 : 80) ? Endpoint.bracketed(host) : hostAndPort
    }

    /// Host and port as in CONNECT; the port is always there.
    var hostAndPort: String { "\(Endpoint.bracketed(host)):\(port)" }

    /// Returns the host as written before a port: an IPv6 address in brackets.
    static func bracketed(_ host: String) -> String { host.contains(":") ? "[\(host)]" : host }
}

extension Endpoint: CustomStringConvertible {
    /// The URL; the scheme's default port is left out.
    public var description: String {
        (isSecure ? "wss://" : "ws://") + authority + pathPrefix
    }
}
