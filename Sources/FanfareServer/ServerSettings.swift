import Broker
import HTTP1
import HTTPServer
package import Net
import WebSocket

/// What every shard needs to know, computed once from the configuration and never changed.
package final class ServerSettings: Sendable {
    /// How many clients may come in, over all shards.
    package let admissionControl: AdmissionControl
    let pathPrefix: String
    let requiresProtocolVersion: Bool
    let liveness: Liveness.Settings
    let httpLimits: HTTPLimits
    let webSocketLimits: WebSocketLimits
    /// How long a client's message may take to arrive.
    let messageTimeout: Duration
    let httpTimeouts: HTTPTimeouts
    package let streamLimits: StreamLimits
    let deflate: DeflateOptions?
    /// Connections of one shard that are no client's yet, or carry HTTP alone.
    let handshakesMax: Int
    /// Bytes of memory that the queues of one shard may hold.
    let heldBytesMax: Int
    /// Bytes of memory that one shard may hold of what has come in and is not dealt with yet.
    let inboundBytesMax: Int
    /// Messages waiting on a line between two shards before triggers are refused with 503.
    package let lineLengthMax: Int
    /// The most that all shards hold of what has come in, in bytes, however much memory there is.
    private static var inboundBytesTotalMax: Int { 128 << 20 }
    /// How long a trigger waits for a congested channel before it is refused with 503.
    let triggerTimeout: Duration
    /// Members of a presence channel up to which each arrival and departure is told at once.
    let smallPresenceChannelMax: Int
    /// How many channels a closed connection leaves at a time.
    let leaving: LeaveQueue.Settings
    /// How long a closing stream may take to send its last bytes and to hear the peer's end.
    let farewellTimeout: Duration = .seconds(5)
    /// The same for the stream of a client that was refused: it has a few bytes to read, and is no client.
    let refusalTimeout: Duration = .seconds(1)

    package init(
        _ configuration: Configuration,
        shardCount: Int = 1,
        smallPresenceChannelMax: Int = 100,
        leaving: LeaveQueue.Settings = LeaveQueue.Settings()
    ) {
        // Shares, not sums: no shard has to know what another has. The kernel spreads connections evenly.
        handshakesMax = max(1, configuration.admission.handshakesMax / shardCount)
        let queuedBytesMax = configuration.queuedBytesTotalMax ?? Memory.available / 4
        // One budget for both, so that all of it together keeps to what is configured.
        let inboundBytesMax = min(queuedBytesMax / 4, Self.inboundBytesTotalMax)
        self.inboundBytesMax = inboundBytesMax / shardCount
        heldBytesMax = (queuedBytesMax - inboundBytesMax) / shardCount
        lineLengthMax = configuration.relayedEventsMax
        triggerTimeout = .seconds(configuration.triggerTimeout)
        self.smallPresenceChannelMax = smallPresenceChannelMax
        self.leaving = leaving
        admissionControl = AdmissionControl(configuration)
        pathPrefix = configuration.pathPrefix
        requiresProtocolVersion = configuration.requiresProtocolVersion
        liveness = Liveness.Settings(
            activityTimeout: configuration.activityTimeout,
            pongTimeout: configuration.pongTimeout
        )
        httpLimits = HTTPLimits(
            fieldBytesMax: configuration.requestHeadLengthMax,
            bodyLengthMax: configuration.requestBodyLengthMax
        )
        webSocketLimits = WebSocketLimits(
            messageLengthMax: configuration.messageLengthMax,
            fragmentCountMax: configuration.messageFragmentsMax
        )
        messageTimeout = .seconds(configuration.messageTimeout)
        let admission = configuration.admission
        httpTimeouts = HTTPTimeouts(
            head: .seconds(admission.requestHeadTimeout),
            body: .seconds(admission.requestBodyTimeout),
            idle: .seconds(admission.requestIdleTimeout)
        )
        streamLimits = StreamLimits(
            queuedBytesMax: configuration.queuedBytesMax,
            handshakeTimeout: .seconds(admission.tlsHandshakeTimeout)
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
