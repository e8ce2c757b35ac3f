import Primitives

/// The channels of a store that wait to be attached, or to catch up.
struct ChannelQueues {
    /// Those to attach or detach after the answers to other calls.
    var attachments = Queue<RemoteChannel>()
    /// Those that have to catch up, in order.
    var behind: [RemoteChannel] = []
    /// The partitions that are searched for such channels when ``behind`` is empty.
    var unvisited: [Int] = []
    /// The partitions in which Redis has refused the node on a channel, or a subscription.
    var refused: Set<Int> = []
    /// The total cost of the channels that are catching up.
    var catchingUpCost = 0
    /// The number of channels that may still begin to catch up in this turn.
    var catchUpsLeft = catchUpsPerTurn

    /// The maximum number of channels that begin to catch up in one turn.
    static var catchUpsPerTurn: Int { 6 }

    /// Forgets those to attach and to catch up, because nothing is received any more.
    mutating func removeAll() {
        (attachments, behind, unvisited) = (Queue(), [], [])
        (refused, catchingUpCost) = ([], 0)
    }
}

/// The channels of a store to compare with Redis next; they are taken from one partition after the other.
struct PositionComparison {
    /// The number of channels to compare with each portion of heartbeats.
    var portion = 0
    /// The number of channels left until the next heartbeat.
    var left = 0
    /// The number of channels left of the present portion.
    var due = 0
    /// The partition, by its index among those of the store, and the next channel there.
    var (partition, channel) = (0, 0)
}
