import Primitives
import PusherProtocol

/// The users of one home shard whose last connection has left a presence channel, until they return or their time is
/// over.
///
/// A value without a clock. Each user has at most one entry for a channel, however often it leaves and returns. All
/// times are milliseconds of one steady clock.
public struct DepartingMembers: Sendable {
    private struct Departure: Hashable {
        let address: ChannelAddress
        let user: UserID
    }

    /// When each member leaves; an entry of ``queues`` with another time is outdated.
    private var times: [Departure: Int64] = [:]
    /// By grace, because departures with the same one are due in order; apps may have different ones.
    private var queues: [Int64: Queue<(departure: Departure, due: Int64)>] = [:]

    /// Creates a list without departures.
    public init() {}

    /// Records that the last connection of a user has left, and that the user leaves at `due`, which is now plus
    /// `grace`.
    public mutating func add(
        _ user: UserID,
        from address: ChannelAddress,
        until due: Int64,
        after grace: Int64
    ) {
        let departure = Departure(address: address, user: user)
        times[departure] = due
        var queue = queues.removeValue(forKey: grace) ?? Queue()
        queue.append((departure, due))
        // Amortized constant time, and bounded by the number of departing members.
        if queue.count > 2 * times.count + 64 {
            queue = queue.filter { times[$0.departure] == $0.due }
        }
        queues[grace] = queue
    }

    /// Forgets a user who has returned, or is no member any more.
    public mutating func remove(_ user: UserID, from address: ChannelAddress) {
        guard !times.isEmpty else { return }
        times[Departure(address: address, user: user)] = nil
        if times.isEmpty { queues = [:] }
    }

    /// The number of entries in memory, including outdated ones.
    var entryCount: Int { queues.values.reduce(0) { $0 + $1.count } }

    /// When the next member leaves, or a little earlier; `nil` if none is departing.
    public var nextDue: Int64? { queues.values.compactMap { $0.first?.due }.min() }

    /// Removes and returns the members whose time is over.
    public mutating func takeDue(
        atMost countMax: Int,
        at now: Int64
    ) -> [(address: ChannelAddress, user: UserID)] {
        var taken: [(ChannelAddress, UserID)] = []
        for grace in queues.keys.sorted() {
            while taken.count < countMax, let next = queues[grace]?.first, next.due <= now {
                queues[grace]?.removeFirst()
                guard times[next.departure] == next.due else { continue }
                times[next.departure] = nil
                taken.append((next.departure.address, next.departure.user))
            }
            if queues[grace]?.isEmpty == true { queues[grace] = nil }
        }
        return taken
    }
}
