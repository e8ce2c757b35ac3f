import Primitives
import PusherProtocol

/// The users of one home shard whose last connection has left a presence channel, until they return or their time is
/// over.
///
/// A value without a clock. Each user has at most one entry for a channel, however often it leaves and returns. All
/// times are milliseconds of one steady clock.
public struct DepartingMembers: Sendable {
    /// A user whose last connection has left a channel.
    public struct Departure: Sendable {
        /// The channel.
        public let address: ChannelAddress
        /// The user.
        public let user: UserID
        /// When the connection left.
        public let time: Int64
    }

    /// When the last connection of each member left; a departure of ``queues`` with another time is outdated.
    private var times: [ChannelAddress: [UserID: Int64]] = [:]
    /// The number of members in `times`.
    private var count = 0
    /// By grace in seconds, because departures with the same one are due in order; apps may have different ones.
    private var queues: [Int: Queue<Departure>] = [:]

    /// Creates a list without departures.
    public init() {}

    /// When the last connection of each departing member of a channel left.
    public subscript(address: ChannelAddress) -> [UserID: Int64] { times[address] ?? [:] }

    /// Records that the last connection of a user leaves now, and that the user leaves `grace` seconds later.
    public mutating func add(
        _ user: UserID,
        from address: ChannelAddress,
        after grace: Int,
        at now: Int64
    ) {
        let former = times[address, default: [:]].updateValue(now, forKey: user)
        if former == nil { count += 1 }
        var queue = queues.removeValue(forKey: grace) ?? Queue()
        queue.append(Departure(address: address, user: user, time: now))
        // Amortized constant time, and bounded by the number of departing members.
        if queue.count > 2 * count + 64 {
            queue = queue.filter { times[$0.address]?[$0.user] == $0.time }
        }
        queues[grace] = queue
    }

    /// Forgets a user who has returned, or is no member any more; returns when its last connection left, or `nil` if
    /// it was not departing.
    @discardableResult
    public mutating func remove(_ user: UserID, from address: ChannelAddress) -> Int64? {
        guard let time = times[address]?.removeValue(forKey: user) else { return nil }
        count -= 1
        if times[address]?.isEmpty == true { times[address] = nil }
        if times.isEmpty { queues = [:] }
        return time
    }

    /// Forgets the members of a channel; returns when the last connection of each left.
    @discardableResult
    public mutating func removeAll(from address: ChannelAddress) -> [UserID: Int64] {
        guard let users = times.removeValue(forKey: address) else { return [:] }
        count -= users.count
        if times.isEmpty { queues = [:] }
        return users
    }

    /// Removes and returns the member of a channel that has been departing for longest; `nil` if none is.
    ///
    /// The cost grows with the number of departing members, so this is for channels that are full.
    public mutating func takeFirst(of address: ChannelAddress) -> Departure? {
        let first = self[address].min { ($0.value, $0.key.text) < ($1.value, $1.key.text) }
        guard let (user, time) = first else { return nil }
        remove(user, from: address)
        return Departure(address: address, user: user, time: time)
    }

    /// The number of entries in memory, including outdated ones.
    var entryCount: Int { queues.values.reduce(0) { $0 + $1.count } }

    /// When the next member leaves, or a little earlier; `nil` if none is departing.
    public var nextDue: Int64? {
        // There are queues only while there are times, and most brokers have none.
        guard !times.isEmpty else { return nil }
        return queues.compactMap { grace, queue in queue.first.map { due($0, after: grace) } }.min()
    }

    private func due(_ departure: Departure, after grace: Int) -> Int64 {
        departure.time + Int64(grace) * 1_000
    }

    /// Removes and returns the members whose time is over.
    public mutating func takeDue(atMost countMax: Int, at now: Int64) -> [Departure] {
        var taken: [Departure] = []
        for grace in queues.keys.sorted() {
            while taken.count < countMax, let next = queues[grace]?.first,
                due(next, after: grace) <= now
            {
                queues[grace]?.removeFirst()
                guard times[next.address]?[next.user] == next.time else { continue }
                remove(next.user, from: next.address)
                taken.append(next)
            }
            if queues[grace]?.isEmpty == true { queues[grace] = nil }
        }
        return taken
    }
}
