import Broker
import HTTP1
import HTTPServer
import Net
import WebSocket

/// What every shard needs to know, computed once from the configuration and never changed.
final class ServerSettings: Sendable {
    /// Connections of the whole process.
    let quota: ConnectionQuota
    let pathPrefix: String
    let requiresProtocolVersion: Bool
    let liveness: Liveness.Settings
    let httpLimits: HTTPLimits
    let httpTimeouts: HTTPTimeouts
    let webSocketLimits: WebSocketLimits
    let streamLimits: StreamLimits
    let deflate: DeflateOptions?
    /// Messages waiting on a line between two shards before triggers are refused with 503.
    let lineLengthMax: Int
    /// How long a closing stream may take to send its last bytes and to hear the peer's end.
    let farewellTimeout: Duration = .seconds(5)

    init(
        _ configuration: Configuration,
        lineLengthMax: Int = 100_000,
        httpTimeouts: HTTPTimeouts = HTTPTimeouts(),
        handshakeTimeout: Duration = .seconds(10)
    ) {
        self.lineLengthMax = lineLengthMax
        self.httpTimeouts = httpTimeouts
        quota = ConnectionQuota(limit: configuration.connectionsMax ?? .max)
        pathPrefix = configuration.pathPrefix
        requiresProtocolVersion = configuration.requiresProtocolVersion
        liveness = Liveness.Settings(
            activityTimeout: configuration.activityTimeout,
            pongTimeout: configuration.pongTimeout
        )
        httpLimits = HTTPLimits(bodyLengthMax: configuration.requestBodyLengthMax)
        webSocketLimits = WebSocketLimits(
            messageLengthMax: configuration.messageLengthMax,
            fragmentCountMax: 4_096
        )
        streamLimits = StreamLimits(
            queuedBytesMax: configuration.queuedBytesMax,
            handshakeTimeout: handshakeTimeout
        )
        // Tens of thousands of connections would each keep a window of their own.
        deflate =
            configuration.compression.isEnabled
            ? DeflateOptions(
                serverNoContextTakeover: true,
                clientNoContextTakeover: true,
                compressionThreshold: configuration.compression.threshold
            ) : nil
    }
}
