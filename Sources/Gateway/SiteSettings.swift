package import HTTP1
package import HTTPServer
package import Net
package import Shard
package import WebSocket

/// The settings of the HTTP sites of all shards: paths, and the limits of requests and WebSocket messages.
package struct SiteSettings: Sendable {
    /// The prefix of every path, such as `/realtime`; removed before routing.
    package let pathPrefix: String
    /// Whether clients must send the protocol version.
    let requiresProtocolVersion: Bool
    /// The limits of a client's WebSocket messages.
    let webSocketLimits: WebSocketLimits
    /// What is accepted of a client's offer of compression; `nil` for no compression.
    let deflate: DeflateOptions?
    /// The limits of HTTP requests.
    let httpLimits: HTTPLimits
    /// The times of HTTP requests.
    let httpTimeouts: HTTPTimeouts
    /// To each loop, the requests of the sessions over HTTP that belong to it.
    package var handovers: [Mailbox<HTTPHandover>] = []

    package init(
        pathPrefix: String,
        requiresProtocolVersion: Bool,
        webSocketLimits: WebSocketLimits,
        deflate: DeflateOptions?,
        httpLimits: HTTPLimits,
        httpTimeouts: HTTPTimeouts
    ) {
        self.pathPrefix = pathPrefix
        self.requiresProtocolVersion = requiresProtocolVersion
        self.webSocketLimits = webSocketLimits
        self.deflate = deflate
        self.httpLimits = httpLimits
        self.httpTimeouts = httpTimeouts
    }
}

extension ShardCore {
    /// Creates an HTTP site.
    ///
    /// - Parameters:
    ///   - settings: The limits and times of requests.
    ///   - responseFields: The fields of every response.
    ///   - makeResponder: Creates the responder, from the streams that the site drains.
    /// - Returns: The site.
    package func makeSite(
        _ settings: SiteSettings,
        _ responseFields: [Field] = [],
        responder makeResponder: (DrainingStreams) -> any HTTPResponder
    ) -> HTTPSite {
        let draining = DrainingStreams()
        return HTTPSite(
            reactor: context.reactor,
            limits: settings.httpLimits,
            timeouts: settings.httpTimeouts,
            connectionsMax: context.settings.handshakesMax,
            draining: draining,
            responseFields: responseFields,
            responder: makeResponder(draining)
        )
    }
}
