import PusherProtocol

/// The connections of one shard, found by socket ID without a search.
///
/// The first number of a socket ID is the connection's slot and shard; the second is random, so that nobody guesses
/// another client's ID, and so that the ID of a closed connection never finds its successor in the slot.
struct ConnectionTable {
    private let shard: Int
    private let shardCount: Int
    private var slots: [Connection?] = []
    /// When each was heard, side by side: a look at all of them touches no connection.
    private var liveness: [Liveness] = []
    private var vacantSlots: [Int] = []
    private var random: RandomPool

    /// Makes the table of shard number `shard`, whose socket IDs end with numbers of `random`.
    init(shard: Int, shardCount: Int, random: RandomPool) {
        self.random = random
        self.shard = shard
        self.shardCount = shardCount
    }

    /// The number of connections.
    var count: Int { slots.count - vacantSlots.count }

    /// A fresh socket ID, for the connection to be inserted next.
    mutating func makeSocketID() -> SocketID {
        let slot = vacantSlots.last ?? slots.endIndex
        let first = UInt64(slot * shardCount + shard)
        return SocketID(first, .random(in: 1..<10_000_000_000, using: &random))
    }

    /// Adds a connection, heard `now`, under the ID made last.
    mutating func insert(_ connection: Connection, heardAt now: UInt32) {
        let slot = slot(of: connection.socketID)
        if slot == slots.endIndex {
            slots.append(connection)
            liveness.append(Liveness(now: now))
        } else {
            let vacant = vacantSlots.popLast()
            precondition(slot == vacant, "another connection came between")
            slots[slot] = connection
            liveness[slot] = Liveness(now: now)
        }
    }

    /// Removes the connection with this ID, if there is one.
    mutating func remove(_ id: SocketID) {
        guard let slot = slot(holding: id) else { return }
        slots[slot] = nil
        vacantSlots.append(slot)
    }

    /// The connection with this ID, if it is one of this shard and still open.
    subscript(id: SocketID) -> Connection? {
        slot(holding: id).flatMap { slots[$0] }
    }

    /// All connections, in no order.
    var all: some Sequence<Connection> { slots.lazy.compactMap(\.self) }

    /// Up to `count` of the connections that are not closing yet.
    func open(upTo count: Int) -> [Connection] {
        Array(all.lazy.filter { !$0.isClosing }.prefix(count))
    }

    /// Notes that a connection of this table was heard.
    mutating func heard(_ id: SocketID, at now: UInt32) { liveness[slot(of: id)].heard(at: now) }

    /// The connections about which something is to be done, and what.
    mutating func judge(
        at now: UInt32,
        _ settings: Liveness.Settings
    ) -> [(Connection, Liveness.Verdict)] {
        liveness.indices.filter { liveness[$0].isOverdue(at: now, settings) }.compactMap { slot in
            guard let connection = slots[slot] else { return nil }
            return (connection, liveness[slot].judge(at: now, settings))
        }
    }

    private func slot(of id: SocketID) -> Int { Int(id.first / UInt64(shardCount)) }

    /// The slot in which the connection with this ID is; nil if there is none.
    private func slot(holding id: SocketID) -> Int? {
        guard id.first % UInt64(shardCount) == UInt64(shard) else { return nil }
        let slot = slot(of: id)
        return slots.indices.contains(slot) && slots[slot]?.socketID == id ? slot : nil
    }
}
