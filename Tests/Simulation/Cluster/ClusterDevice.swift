import PusherProtocol

/// A client with the channels that it follows, over any number of connections.
final class ClusterDevice {
    let number: Int
    let app: Int
    let user: String
    /// Whether it keeps its positions and goes on from them; only in an app with positions.
    let tracks: Bool
    var connection: ClusterConnection?
    /// What it has got on each channel since it was told last that something may be missing.
    ///
    /// Without positions, nothing is promised beyond a connection.
    var books: [Int: ClusterBook] = [:]
    /// The channels that it follows.
    var followed: Set<Int> = []

    init(_ number: Int, app: Int, user: String, tracks: Bool) {
        self.number = number
        self.app = app
        self.user = user
        self.tracks = tracks
    }

    var name: String { "device \(number)" }

    func broken(_ invariant: Invariant, _ text: String) -> Violation {
        Violation(invariant, "\(name) \(text)")
    }

    /// Whether it is subscribed to a channel.
    func isSubscribed(to channel: Int) -> Bool {
        connection?.subscriptions[channel]?.isGranted == true
    }
}

/// What a device has got on a channel.
struct ClusterBook {
    /// The step in which it began.
    let beganAt: Int
    /// The place of the last message; `nil` if it keeps none.
    var position: ChannelPosition?
    /// The rank of the last event in the order of execution.
    var lastRank = -1
    var received: Set<Int> = []
}

/// A connection of a device.
final class ClusterConnection {
    let number: Int
    let node: ClusterNode
    let transport: SimulatedClient
    var socketID: SocketID?
    var subscriptions: [Int: ClusterSubscription] = [:]
    /// The channels whose unsubscription is not confirmed, in the order of the pings behind them.
    var leaving: [Int] = []

    init(_ number: Int, to node: ClusterNode, _ transport: SimulatedClient) {
        self.number = number
        self.node = node
        self.transport = transport
    }

    func send(_ event: String, _ members: String) {
        transport.send(#"{"event":"\#(event)","data":{\#(members)}}"#, mask: Self.mask)
    }

    static var mask: UInt32 { 0x1234_5678 }
}

/// A connection's subscription to a channel.
struct ClusterSubscription {
    var isGranted = false
    /// When the present grant came, a time in milliseconds.
    var grantedAt = 0
    var members: Set<String> = []
    /// The last number of subscriptions that was announced.
    var count: Int?
}

/// An event that a backend or a client has published.
struct ClusterEvent {
    enum Status { case open, accepted, refused, unknown }

    /// What has published it: those of one source have their order.
    enum Source: Hashable {
        case request(Int)
        case connection(Int)
    }

    let id: Int
    let channel: Int
    let source: Source
    /// The device that is excluded, since it has published it.
    let sender: Int?
    let step: Int
    /// When it was executed, which may be long after it was sent; until then, when it was sent.
    var time: Int
    var status = Status.open
    /// Its place among all events in the order of execution; `nil` if no server has executed it.
    var rank: Int?
    /// The server that has executed it, if others had replaced that, or it was a replica.
    var stray: SimulatedRedis.Process?
    var isStray: Bool { stray != nil }
    var isOfReplica = false
    /// Whether a replica was promoted that has not got it.
    var isLost = false
}
