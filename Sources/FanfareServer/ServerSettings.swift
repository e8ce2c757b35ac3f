import Broker
import HTTP1
import Net
import PusherProtocol
import WebSocket

/// What every shard needs to know, computed once from the configuration and never changed.
struct ServerSettings: Sendable {
    var apps: Apps
    var quotas: [AppID: ConnectionQuota]
    /// Connections of the whole process.
    var quota: ConnectionQuota
    var pathPrefix: String
    var liveness: Liveness.Settings
    var httpLimits: HTTPLimits
    var webSocketLimits: WebSocketLimits
    var streamLimits: StreamLimits
    var deflate: DeflateOptions?
    /// Messages waiting on a line between two shards before triggers are refused with 503.
    var lineLengthMax = 100_000
    /// How long a closing stream may take to send its last bytes and to hear the peer's end.
    var farewellTimeout: Duration = .seconds(5)

    init(_ configuration: Configuration) {
        apps = Apps(configuration.apps.map(App.init))
        quotas = Dictionary(
            uniqueKeysWithValues: configuration.apps.map {
                (AppID($0.id), ConnectionQuota(limit: $0.connectionsMax ?? .max))
            }
        )
        quota = ConnectionQuota(limit: configuration.connectionsMax ?? .max)
        pathPrefix = configuration.pathPrefix
        liveness = Liveness.Settings(
            activityTimeout: configuration.activityTimeout,
            pongTimeout: configuration.pongTimeout
        )
        httpLimits = HTTPLimits(bodyLengthMax: configuration.requestBodyLengthMax)
        webSocketLimits = WebSocketLimits(messageLengthMax: configuration.messageLengthMax)
        streamLimits = StreamLimits(queuedBytesMax: configuration.queuedBytesMax)
        if configuration.compression.isEnabled {
            // Tens of thousands of connections would each keep a window of their own.
            deflate = DeflateOptions(
                serverNoContextTakeover: true,
                clientNoContextTakeover: true,
                compressionThreshold: configuration.compression.threshold
            )
        }
    }
}

extension App {
    /// The app that the configuration describes.
    convenience init(_ configuration: AppConfiguration) {
        var texts = ProtocolLimits()
        texts.dataLengthMax = configuration.eventDataLengthMax
        texts.channelNameLengthMax = configuration.channelNameLengthMax
        self.init(
            id: AppID(configuration.id),
            key: configuration.key,
            secret: AppSecret(configuration.secret),
            isEnabled: configuration.isEnabled,
            limits: AppLimits(
                texts: texts,
                subscriptionsMax: configuration.subscriptionsMax,
                membersMax: configuration.membersMax,
                userInfoLengthMax: configuration.userInfoLengthMax
            )
        )
    }
}
