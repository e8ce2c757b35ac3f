import Net

/// The server that a benchmark runs against: what `--url` says.
struct BenchTarget: Equatable, Sendable {
    /// Whether it is reached through TLS.
    var isSecure: Bool
    /// A name, or an IP address without brackets.
    var host: String
    /// The port, of WebSocket and HTTP API alike.
    var port: UInt16
    /// What stands in front of `/app/…` and `/apps/…`; empty or like `/ws`.
    var pathPrefix: String

    /// Reads `ws://host:port/prefix`; `wss`, `http` and `https` too.
    ///
    /// - Returns: nil if the text is none of these.
    init?(url: String) {
        guard let schemeEnd = url.firstRange(of: "://") else { return nil }
        switch url[..<schemeEnd.lowerBound].lowercased() {
        case "ws", "http": isSecure = false
        case "wss", "https": isSecure = true
        default: return nil
        }
        let rest = url[schemeEnd.upperBound...]
        guard !rest.contains(where: { "?#@ ".contains($0) }) else { return nil }
        let authority = rest.prefix { $0 != "/" }
        var prefix = String(rest.dropFirst(authority.count))
        while prefix.hasSuffix("/") { prefix.removeLast() }
        pathPrefix = prefix
        guard let (host, port) = Self.hostAndPort(authority) else { return nil }
        self.host = host
        let standard: UInt16 = isSecure ? 443 : 80
        guard let number = port.map({ UInt16($0) }) ?? standard, number > 0 else { return nil }
        self.port = number
    }

    /// The value of the field Host.
    var hostField: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
    }

    /// The URL, for people.
    var url: String { "\(isSecure ? "wss" : "ws")://\(hostField)\(pathPrefix)" }

    private static func hostAndPort(_ authority: Substring) -> (String, port: Substring?)? {
        var host = authority
        var port: Substring?
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { return nil }
            host = authority[authority.index(after: authority.startIndex)..<end]
            let behind = authority[authority.index(after: end)...]
            guard behind.isEmpty || behind.hasPrefix(":") else { return nil }
            if !behind.isEmpty { port = behind.dropFirst() }
        } else if let colon = authority.firstIndex(of: ":") {
            host = authority[..<colon]
            port = authority[authority.index(after: colon)...]
        }
        return host.isEmpty ? nil : (String(host), port)
    }
}
