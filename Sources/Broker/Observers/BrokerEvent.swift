public import PusherProtocol

/// Something that happened in the broker and that observers can see.
public enum BrokerEvent: Sendable {
    /// A client was admitted.
    case connected(SocketID)
    /// A client's connection has ended.
    case disconnected(SocketID)
    /// Something happened on a channel, as its home saw it.
    case channel(ChannelEvent, ChannelAddress)
    /// A connection was closed because it read too slowly: this many bytes of its queue were dropped.
    case deliveriesDropped(SocketID, byteCount: Int)
    /// A limit was met.
    ///
    /// `consequence` says what happens to the peer, if that differs from the limit's documented consequence.
    case limitMet(Limit, count: Int, consequence: String?)
}

/// Something that happened on a channel, reported by its home in the order in which it happened.
///
/// Nothing is debounced: a departure is reported at once, even if the user returns in the next moment.
public enum ChannelEvent: Sendable, Equatable {
    /// The channel has its first subscriber; reported before the member that the subscriber is.
    case occupied
    /// The channel has lost its last subscriber; reported after the member that the subscriber was.
    case vacated
    /// A connection is subscribed, on a presence channel as this user.
    case subscribed(SocketID, userID: UserID?)
    /// A connection is no longer subscribed.
    case unsubscribed(SocketID)
    /// The first connection of a user has joined a presence channel.
    case memberAdded(UserID)
    /// The last connection of a user has left a presence channel.
    case memberRemoved(UserID)
    /// An event of a backend has its place in the channel's order.
    indirect case published(Publication)
    /// A client event has its place in the channel's order; `userID` is `nil` unless the channel is a presence channel.
    indirect case clientEvent(ClientEvent, sender: SocketID, userID: UserID?)
    /// A client has subscribed to a cache channel that holds no event; reported once a minute until there is one.
    case cacheMiss
    /// A cache channel that held no event has one.
    case cacheFilled
    /// The number of subscribers was announced to them, or is 0.
    case subscriptionCount(Int)

    /// The kind of the event.
    public var kind: BrokerEventKinds {
        switch self {
        case .occupied, .vacated: .occupancy
        case .subscribed, .unsubscribed: .subscriptions
        case .memberAdded, .memberRemoved: .members
        case .published: .published
        case .clientEvent: .clientEvents
        case .cacheMiss, .cacheFilled: .cacheMisses
        case .subscriptionCount: .subscriptionCounts
        }
    }
}

/// A set of kinds of broker events.
public struct BrokerEventKinds: OptionSet, Sendable, Hashable {
    /// One bit for each kind.
    public let rawValue: UInt16

    /// Creates a set from its bits.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Connections that begin and end.
    public static let connections = BrokerEventKinds(rawValue: 1 << 0)
    /// Channels that become occupied and vacated.
    public static let occupancy = BrokerEventKinds(rawValue: 1 << 1)
    /// Subscriptions that begin and end.
    public static let subscriptions = BrokerEventKinds(rawValue: 1 << 2)
    /// Members that join and leave.
    public static let members = BrokerEventKinds(rawValue: 1 << 3)
    /// Events of backends.
    public static let published = BrokerEventKinds(rawValue: 1 << 4)
    /// Events of clients.
    public static let clientEvents = BrokerEventKinds(rawValue: 1 << 5)
    /// Cache channels without an event, and their next event.
    public static let cacheMisses = BrokerEventKinds(rawValue: 1 << 6)
    /// Numbers of subscribers.
    public static let subscriptionCounts = BrokerEventKinds(rawValue: 1 << 7)
    /// Queues that were dropped.
    public static let droppedDeliveries = BrokerEventKinds(rawValue: 1 << 8)
    /// Limits that were met.
    public static let limits = BrokerEventKinds(rawValue: 1 << 9)
}
