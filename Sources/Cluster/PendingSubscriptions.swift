import Broker
import Primitives
import PusherProtocol
import Redis
import Shard

/// A subscription that waits for Redis.
struct PendingSubscription {
    let request: SubscriptionRequest
    let member: Member?
    /// `nil` for a client that does not track the channel.
    let position: PositionRequest?
    /// The number of attempts to read what the client has missed; the stream may continue meanwhile.
    var attempts = 0
    /// The messages read so far, and the last message that is wanted.
    var missed: (messages: [StoredMessage], byteCount: Int, last: StreamPosition)?
    /// The messages read so far of streams that were sealed.
    var former: FormerReading?
    /// The number of the read that it waits for; see ``ChannelReplays``.
    var replay: UInt64?
}

/// Waiting subscriptions of one channel, in the order of their arrival; a connection has at most one.
///
/// Each is found by its connection and by its user in constant time. While Redis is unreachable, 100,000 clients may
/// wait on one channel, and each that leaves withdraws its own.
struct PendingSubscriptions {
    private var entries = SegmentedDictionary<
        SocketID, (ordinal: UInt64, subscription: PendingSubscription)
    >()
    /// The connections in their order; entries of removed subscriptions stay for a while.
    private var order = Queue<(ordinal: UInt64, id: SocketID)>()
    private var connections: [UserID: Set<SocketID>] = [:]
    private var lastOrdinal: UInt64 = 0

    var isEmpty: Bool { entries.isEmpty }

    var count: Int { entries.count }

    /// The requests, in their order.
    var requests: [SubscriptionRequest] { present.map(\.request) }

    /// The first subscriptions, in their order.
    func first(_ count: Int) -> [PendingSubscription] { Array(present.prefix(count)) }

    private var present: some Sequence<PendingSubscription> {
        order.elements.lazy.compactMap { [entries] place in
            entries[place.id].flatMap { $0.ordinal == place.ordinal ? $0.subscription : nil }
        }
    }

    /// Whether a subscription of a user waits.
    func contains(_ user: UserID) -> Bool { connections[user] != nil }

    mutating func append(_ subscription: PendingSubscription) {
        let id = subscription.request.socketID
        assert(entries[id] == nil, "a connection subscribes once to a channel")
        lastOrdinal += 1
        entries[id] = (lastOrdinal, subscription)
        order.append((lastOrdinal, id))
        if let user = subscription.member?.id { connections[user, default: []].insert(id) }
    }

    mutating func append(contentsOf subscriptions: [PendingSubscription]) {
        for subscription in subscriptions { append(subscription) }
    }

    /// Removes the subscription of a connection.
    mutating func remove(_ id: SocketID) -> PendingSubscription? {
        guard let subscription = entries.removeValue(forKey: id)?.subscription else { return nil }
        if let user = subscription.member?.id {
            connections[user]?.remove(id)
            if connections[user]?.isEmpty == true { connections[user] = nil }
        }
        forgetRemoved()
        return subscription
    }

    /// Removes the subscriptions of a user, in their order.
    mutating func removeAll(of user: UserID) -> [PendingSubscription] {
        let removed = connections.removeValue(forKey: user)?
            .compactMap { entries.removeValue(forKey: $0) }
        forgetRemoved()
        return (removed ?? []).sorted { $0.ordinal < $1.ordinal }.map(\.subscription)
    }

    /// Removes all subscriptions, in their order.
    mutating func removeAll() -> [PendingSubscription] {
        defer { (entries, order, connections) = (SegmentedDictionary(), Queue(), [:]) }
        return Array(present)
    }

    /// Removes the entries of removed subscriptions at the front, or when they are more than half of all.
    private mutating func forgetRemoved() {
        while let place = order.first, entries[place.id]?.ordinal != place.ordinal {
            order.removeFirst()
        }
        guard order.count > 32, order.count > 2 * entries.count else { return }
        order = order.filter { entries[$0.id]?.ordinal == $0.ordinal }
    }
}

/// The missed messages of sealed streams for one subscription, as far as they are read.
struct FormerReading {
    /// The last position that is read.
    var continuation: StreamContinuation
    /// The beginning of the present stream.
    let end: StreamPosition
    /// The messages of each stream.
    var streams: FormerStreams
    /// Their number, and their size in bytes.
    var (count, byteCount) = (0, 0)
    /// Whether the present stream is reached, with nothing missing.
    var isComplete: Bool { continuation.position == end }
    /// Whether messages are missing or too many, so that the client is notified of a gap.
    var hasGap = false

    init?(behind known: StreamPosition, upTo end: StreamPosition) {
        guard let position = ChannelPosition(known), let start = ChannelPosition(end) else {
            return nil
        }
        continuation = StreamContinuation(behind: known)
        self.end = end
        streams = FormerStreams([FormerStreams.Stream(behind: position)], ahead: start)
    }

    /// The streams with missed messages; `nil` if that cannot be determined.
    var missed: FormerStreams? {
        guard isComplete, !hasGap else { return nil }
        var missed = streams
        missed.streams.removeAll(where: \.messages.isEmpty)
        return missed
    }
}
