public import PusherProtocol

/// A connection and its subscriptions, to find out why a client did not get a message.
public struct ConnectionRecord: Sendable {
    /// How a connection has ended.
    public struct Ending: Sendable, Equatable {
        /// The code of the close frame; `nil` if the connection was lost.
        public var code: Int?
        /// Whether the client has closed it.
        public var isByClient: Bool
        /// Whether the queue was dropped, because the client read too slowly.
        public var dropsQueue: Bool

        /// Creates an ending; by default the connection is lost.
        public init(code: Int? = nil, isByClient: Bool = false, dropsQueue: Bool = false) {
            self.code = code
            self.isByClient = isByClient
            self.dropsQueue = dropsQueue
        }
    }

    /// A connection and its client, as the connection itself knows them while it is open.
    public struct Identity: Sendable {
        /// The connection.
        public let socketID: SocketID
        /// Its app.
        public let app: AppID
        /// The name and version of the client's library, as sent by the client.
        public let client: String
        /// The user that the client has signed in as, or that it is as a member.
        public let user: UserID?

        /// Creates an identity.
        public init(_ socketID: SocketID, of app: AppID, client: String, user: UserID?) {
            self.socketID = socketID
            self.app = app
            self.client = client
            self.user = user
        }
    }

    /// The connection and its client.
    public let identity: Identity
    /// When the record began, in milliseconds of a steady clock: with the first recorded subscription.
    public var began: Int64 { recorded.began }
    /// How and when the connection has ended; `nil` while it is open.
    public internal(set) var ending: (Ending, time: Int64)?
    /// The subscriptions, in the order of their beginnings.
    public var subscriptions: [SubscriptionRecord] { recorded.subscriptions }
    var recorded: RecordedSubscriptions
}

/// All that is recorded of a connection while it is open.
struct RecordedSubscriptions: Sendable {
    /// The maximum number of subscriptions that are kept of one connection; the oldest ended ones are dropped.
    static let subscriptionsMax = 64

    /// When the first of them began, in milliseconds of a steady clock; it may have been dropped since.
    let began: Int64
    /// The subscriptions, in the order of their beginnings.
    private(set) var subscriptions: [SubscriptionRecord] = []

    init(began: Int64) { self.began = began }

    /// Adds a subscription.
    mutating func append(_ subscription: SubscriptionRecord) {
        if subscriptions.count >= Self.subscriptionsMax,
            let ended = subscriptions.firstIndex(where: { $0.ended != nil })
        {
            subscriptions.remove(at: ended)
        }
        subscriptions.append(subscription)
    }

    /// Ends the present subscription to a channel, if there is one.
    mutating func end(_ channel: ChannelName, at serial: UInt64, _ now: Int64) {
        let index = subscriptions.lastIndex { $0.channel == channel && $0.ended == nil }
        if let index { subscriptions[index].end(at: serial, now) }
    }

    /// Ends all subscriptions; for `serials` see ``ConnectionRecords/closed(_:_:at:serials:)``.
    mutating func endAll(
        at now: Int64,
        serials: (ChannelName) -> (last: UInt64, droppedFrom: UInt64?)
    ) {
        for index in subscriptions.indices where subscriptions[index].ended == nil {
            let (last, droppedFrom) = serials(subscriptions[index].channel)
            subscriptions[index].end(at: last, droppedFrom: droppedFrom, now)
        }
    }

    /// Records that the client has got everything up to a position, and the connection on which it continues.
    mutating func confirm(
        _ position: ChannelPosition,
        on channel: ChannelName,
        successor: SocketID?,
        at now: Int64
    ) {
        let index = subscriptions.lastIndex {
            $0.channel == channel && $0.stream == position.stream && $0.start <= position.serial
        }
        guard let index else { return }
        subscriptions[index].confirm(position.serial, successor: successor, at: now)
    }
}
