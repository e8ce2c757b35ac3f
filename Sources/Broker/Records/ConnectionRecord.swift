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

    /// The maximum number of subscriptions that are kept of one connection; the oldest ended ones are dropped.
    static let subscriptionsMax = 64

    /// The connection.
    public let socketID: SocketID
    /// Its app.
    public let app: AppID
    /// The name and version of the client's library, as sent by the client.
    public let client: String
    /// When the record began, in milliseconds of a steady clock: with the first recorded subscription.
    public let began: Int64
    /// The user that the client has signed in as, or that it is as a member.
    public internal(set) var user: UserID?
    /// How and when the connection has ended; `nil` while it is open.
    public internal(set) var ending: (Ending, time: Int64)?
    /// The subscriptions, in the order of their beginnings.
    public internal(set) var subscriptions: [SubscriptionRecord] = []

    /// Creates the record of an open connection.
    public init(_ socketID: SocketID, of app: AppID, client: String, user: UserID?, at now: Int64) {
        self.socketID = socketID
        self.app = app
        self.client = client
        self.user = user
        began = now
    }

    /// Adds a subscription.
    mutating func append(_ subscription: SubscriptionRecord) {
        if subscriptions.count >= Self.subscriptionsMax,
            let ended = subscriptions.firstIndex(where: { $0.ended != nil })
        {
            subscriptions.remove(at: ended)
        }
        subscriptions.append(subscription)
    }

    /// The index of the present subscription to a channel; `nil` if there is none.
    func lasting(_ channel: ChannelName) -> Int? {
        subscriptions.lastIndex { $0.channel == channel && $0.ended == nil }
    }
}
