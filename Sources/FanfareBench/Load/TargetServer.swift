import HTTPClient
import Net
import PusherProtocol

/// The server under test, and how to connect to it.
struct TargetServer: Sendable {
    var url: ServerURL
    /// Where events are triggered, if that is another node of a cluster.
    var backend: SocketAddress?
    var key: String
    var secret: AppSecret
    var appID: String
    /// The server's process ID; nil to find it.
    var serverID: Int32?
    var trust: TLSTrust = .system
    var offersDeflate = false
    /// Whether the overload runs at the lowest priority: real publishers and readers run on other machines.
    var yieldsToServer = true
    /// The time without progress after which a run ends.
    var stallTimeout: Duration = .seconds(10)
}

/// The value of `--url`, of WebSocket and of the HTTP API.
typealias ServerURL = HTTPAddress

extension ServerURL {
    /// Parses `ws://host:port/prefix`; `wss`, `http` and `https` too.
    init?(webSocketURL text: String) {
        for (scheme, other) in [("ws://", "http://"), ("wss://", "https://")]
        where text.lowercased().hasPrefix(scheme) {
            self.init(webSocketURL: other + text.dropFirst(scheme.count))
            return
        }
        guard let url = try? HTTPAddress(text) else { return nil }
        self = url
    }

    /// The URL as text.
    var webSocketURL: String { "\(isSecure ? "wss" : "ws")://\(hostField)\(pathPrefix)" }

    /// The addresses of the host, the preferred one first.
    func addresses() throws(BenchError) -> [SocketAddress] {
        do throws(ResolveError) {
            return try SocketAddress.resolve(host: host, port: port)
        } catch {
            throw .resolution(error)
        }
    }
}

extension ChannelName {
    static func named(_ text: String) throws(BenchError) -> ChannelName {
        do throws(ChannelNameError) {
            return try ChannelName(text)
        } catch {
            throw .machine("\(error)")
        }
    }

    /// The numbered names of several channels; none for a count that is not allowed.
    static func texts(of count: Int, prefix: String) -> [String] {
        (1...100_000).contains(count) ? (0..<count).map { "\(prefix)-\($0)" } : []
    }

    static func named(_ texts: [String]) throws(BenchError) -> [ChannelName] {
        try texts.map { (text) throws(BenchError) in try named(text) }
    }
}
