public import PusherProtocol

/// An event in the broker, for observers.
public enum BrokerEvent: Sendable {
    /// A client was admitted.
    case connected(SocketID)
    /// The peer of a client that was admitted.
    indirect case admitted(SocketID, ClientPeer)
    /// A client's connection has ended.
    case disconnected(SocketID)
    /// A client has signed in as a user.
    case signedIn(SocketID, UserID)
    /// The broker refused a request of a client or backend.
    indirect case refused(Refusal)
    /// A frame was received or sent.
    indirect case frame(FrameTrace)
    /// An event of a channel, reported by its home.
    case channel(ChannelEvent, ChannelAddress)
    /// A connection was closed because it read too slowly; `byteCount` bytes of its queue were dropped.
    case deliveriesDropped(SocketID, byteCount: Int)
    /// The broker notified a client that tracks a channel of a gap.
    indirect case gapTold(SocketID, ChannelAddress, RecoveryGap)
    /// A limit was reached.
    ///
    /// `consequence` is the effect on the peer, if it differs from the limit's documented consequence.
    case limitMet(Limit, count: Int, consequence: String?)
}

/// An event of a channel, reported by its home in order.
///
/// Nothing is debounced: a departure is reported at once, even if the user returns a moment later.
public enum ChannelEvent: Sendable, Equatable {
    /// The channel has its first subscriber; reported before the subscriber's `memberAdded`.
    case occupied
    /// The channel has lost its last subscriber; reported after the subscriber's `memberRemoved`.
    case vacated
    /// A connection is subscribed, on a presence channel as this user.
    case subscribed(SocketID, userID: UserID?)
    /// A connection is no longer subscribed.
    case unsubscribed(SocketID)
    /// The first connection of a user has joined a presence channel.
    case memberAdded(UserID)
    /// The last connection of a user has left a presence channel.
    case memberRemoved(UserID)
    /// An event of a backend was sequenced.
    indirect case published(Publication)
    /// A client event was sequenced; `userID` is `nil` unless the channel is a presence channel.
    indirect case clientEvent(ClientEvent, sender: SocketID, userID: UserID?)
    /// A client has subscribed to a cache channel that holds no event; reported once a minute until there is one.
    case cacheMiss
    /// A cache channel without an event has received one.
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

    /// Connections that open and close.
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
    /// Dropped send queues.
    public static let droppedDeliveries = BrokerEventKinds(rawValue: 1 << 8)
    /// Limits that were reached.
    public static let limits = BrokerEventKinds(rawValue: 1 << 9)
    /// Gaps that were reported to clients.
    public static let gaps = BrokerEventKinds(rawValue: 1 << 10)
    /// The peers of admitted clients.
    public static let admissions = BrokerEventKinds(rawValue: 1 << 11)
    /// Refusals of connections, subscriptions, messages and requests.
    public static let refusals = BrokerEventKinds(rawValue: 1 << 12)
    /// Frames that are received and sent; very many.
    public static let frames = BrokerEventKinds(rawValue: 1 << 13)
    /// Clients that sign in.
    public static let signIns = BrokerEventKinds(rawValue: 1 << 14)
    /// Events of backends to users, on the users' own channels; for observers of ``published`` alone.
    public static let userEvents = BrokerEventKinds(rawValue: 1 << 15)

    /// The kinds as which events of a user's own channel are reported: only events of backends.
    var ofUserChannel: BrokerEventKinds { contains(.published) ? .userEvents : [] }
}
