import Net
import PusherProtocol

/// The server under test, and how to connect to it.
struct TargetServer: Sendable {
    /// The server's URL.
    var url: ServerURL
    /// Where events are triggered, if that is another node of a cluster.
    var backend: SocketAddress?
    /// The app's key.
    var key: String
    /// The app's secret.
    var secret: AppSecret
    /// The app's ID in the HTTP API.
    var appID: String
    /// The server's process ID; nil to find it.
    var serverID: Int32?
    /// The certificates to trust.
    var trust: TLSTrust = .system
    /// Whether each connection offers permessage-deflate.
    var offersDeflate = false
    /// Whether the overload runs at the lowest priority: real publishers and readers run on other machines.
    var yieldsToServer = true
    /// The time without progress after which a run ends.
    var stallTimeout: Duration = .seconds(10)

    /// The message that subscribes a connection, signed where the channel requires it.
    ///
    /// - Parameters:
    ///   - channel: A channel that is not a user's.
    ///   - socketID: The connection's socket ID.
    ///   - userID: The user ID on a presence channel; it must need no escaping in JSON.
    ///   - position: The position to resume from, of a client that tracks the channel.
    /// - Returns: The message.
    func subscription(
        to channel: ChannelName,
        of socketID: SocketID,
        as userID: String? = nil,
        from position: PositionRequest? = nil
    ) -> ClientMessage {
        let name = channel.text
        guard channel.kind.requiresSignature else {
            return .subscribe(channel: name, auth: nil, channelData: nil, position: position)
        }
        let data = userID.map { #"{"user_id":"\#($0)"}"# }
        let auth = ChannelSignature.auth(
            socketID: socketID,
            channel: name,
            channelData: data,
            key: key,
            secret: secret
        )
        return .subscribe(channel: name, auth: auth, channelData: data, position: position)
    }
}

/// The value of `--url`.
struct ServerURL: Equatable, Sendable {
    /// Whether the URL is for TLS.
    var isSecure: Bool
    /// A name, or an IP address without brackets.
    var host: String
    /// The port, both for WebSocket and for the HTTP API.
    var port: UInt16
    /// The path before `/app/…` and `/apps/…`; empty or like `/ws`.
    var pathPrefix: String

    /// Parses `ws://host:port/prefix`; `wss`, `http` and `https` too.
    ///
    /// - Returns: nil if the text is not such a URL.
    init?(_ text: String) {
        guard let schemeEnd = text.firstRange(of: "://") else { return nil }
        switch text[..<schemeEnd.lowerBound].lowercased() {
        case "ws", "http": isSecure = false
        case "wss", "https": isSecure = true
        default: return nil
        }
        let rest = text[schemeEnd.upperBound...]
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

    /// The addresses of the host, the preferred one first.
    func addresses() throws(BenchError) -> [SocketAddress] {
        do throws(ResolveError) {
            return try SocketAddress.resolve(host: host, port: port)
        } catch {
            throw .resolution(error)
        }
    }

    /// The value of the Host field.
    var hostField: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
    }

    /// The URL as text.
    var text: String { "\(isSecure ? "wss" : "ws")://\(hostField)\(pathPrefix)" }

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

extension ChannelName {
    /// A channel's name from a checked option or a constant.
    static func named(_ text: String) throws(BenchError) -> ChannelName {
        do throws(ChannelNameError) {
            return try ChannelName(text)
        } catch {
            throw .machine("\(error)")
        }
    }
}
