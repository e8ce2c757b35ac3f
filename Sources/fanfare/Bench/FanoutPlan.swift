import PusherProtocol

/// What a fan-out benchmark is to do.
struct FanoutPlan: Sendable {
    /// The server.
    var target: BenchTarget
    /// The app's key.
    var key: String
    /// The app's secret.
    var secret: AppSecret
    /// The app's id in the HTTP API.
    var appID: String
    /// Public, or one that the secret signs subscriptions of.
    var channel: ChannelName
    /// How many connections subscribe.
    var subscriberCount: Int
    /// How many events are sent.
    var messageCount: Int
    /// The length of each event's data, in bytes; at least ``Marker/length``.
    var dataLength: Int
    /// How fast they are sent.
    var pace: Pace
    /// The server's process; nil looks for it.
    var serverID: Int32?
    /// Whether any certificate of the server will do.
    var isInsecure: Bool
    /// How long nothing may move before the run is given up.
    var patience: Duration = .seconds(10)

    /// How many connections may be between their first packet and their acknowledgement.
    static let connectingMax = 256
    /// How many requests may wait for their answer.
    static let unansweredMax = 64
}
