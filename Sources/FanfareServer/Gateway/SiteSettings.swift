package import BrokerConfiguration
import HTTP1
import HTTPServer
import WebSocket

/// The settings of the HTTP sites of all shards: paths, and the limits of requests and WebSocket messages.
package struct SiteSettings: Sendable {
    /// The prefix of every path, such as `/realtime`; removed before routing.
    let pathPrefix: String
    /// Whether clients must send the protocol version.
    let requiresProtocolVersion: Bool
    /// The limits of a client's WebSocket messages.
    let webSocketLimits: WebSocketLimits
    /// What is accepted of a client's offer of compression; `nil` for no compression.
    let deflate: DeflateOptions?
    /// The limits of HTTP requests.
    let httpLimits: HTTPLimits
    /// The times of HTTP requests, with a ``HTTPTimeouts/grace`` in proportion to the longest idle time.
    let httpTimeouts: HTTPTimeouts

    /// The settings in a configuration.
    package init(_ configuration: Configuration) {
        pathPrefix = configuration.pathPrefix
        requiresProtocolVersion = configuration.requiresProtocolVersion
        webSocketLimits = configuration.webSocketLimits
        deflate = DeflateOptions(configuration.compression)
        httpLimits = configuration.httpLimits
        var httpTimeouts = configuration.httpTimeouts
        let idleSeconds = httpTimeouts.idle.components.seconds
        httpTimeouts.grace = .seconds(min(15, max(2, idleSeconds / 5)))
        self.httpTimeouts = httpTimeouts
    }
}

extension DeflateOptions {
    /// What the broker accepts of a client's offer; `nil` for no compression.
    ///
    /// Without context takeover, since each of tens of thousands of connections would keep a window.
    fileprivate init?(_ configuration: Configuration.Compression) {
        guard configuration.isEnabled else { return nil }
        self.init(
            serverNoContextTakeover: true,
            clientNoContextTakeover: true,
            compressionThreshold: configuration.threshold
        )
    }
}
