import Net
import PusherProtocol

/// The connections of one shard, indexed by socket ID.
///
/// The first number of a socket ID encodes the connection's slot and shard. The second is random, so that socket IDs
/// cannot be guessed. So the ID of a closed connection also differs from that of its successor in the slot.
///
/// Slots are grouped in pages. A page without connections takes no memory and is skipped, and new connections take the
/// first vacant slot. So after a peak the table shrinks to the pages still in use.
struct ConnectionTable {
    private let shard: Int
    private let shardCount: Int
    /// The first number of the first slot's socket ID; see ``ShardContext/socketIDBase``.
    private var base: UInt64 = 0
    private var pages: [Page] = []
    /// The first page that may have a vacant slot.
    private var firstPageWithRoom = 0
    private var random: RandomPool

    /// A group of 64 slots.
    private struct Page {
        static var slotCount: Int { 64 }

        /// One bit per slot, set if it has a connection.
        private(set) var occupied: UInt64 = 0
        /// The connections by slot; empty while no slot is occupied.
        private(set) var connections: [Connection?] = []
        /// The liveness of each connection, stored side by side, so that a check of all touches no connection.
        var liveness: [Liveness] = []

        func isVacant(_ slot: Int) -> Bool { occupied & 1 << UInt64(slot) == 0 }

        mutating func insert(_ connection: Connection, _ liveness: Liveness, at slot: Int) {
            if occupied == 0 {
                connections = Array(repeating: nil, count: Self.slotCount)
                self.liveness = Array(repeating: liveness, count: Self.slotCount)
            }
            occupied |= 1 << UInt64(slot)
            connections[slot] = connection
            self.liveness[slot] = liveness
        }

        mutating func remove(at slot: Int) {
            occupied &= ~(1 << UInt64(slot))
            connections[slot] = nil
            guard occupied == 0 else { return }
            connections = []
            liveness = []
        }
    }

    /// Creates the table of shard number `shard`; socket IDs end with numbers of `random`.
    init(shard: Int, shardCount: Int, random: RandomPool) {
        self.random = random
        self.shard = shard
        self.shardCount = shardCount
    }

    /// The number of connections.
    private(set) var count = 0

    /// The number of slots for which the table takes memory, and which ``checkLiveness(page:at:_:)`` visits over all
    /// pages.
    var heldSlotCount: Int { pages.count { $0.occupied != 0 } * Page.slotCount }

    /// Uses the socket IDs of a node of a cluster; called before the first client connects.
    mutating func use(base: UInt64) {
        assert(count == 0, "the IDs of connections do not change")
        self.base = base
    }

    /// Creates the socket ID of the connection that is inserted next.
    mutating func makeSocketID() -> SocketID {
        while firstPageWithRoom < pages.count, pages[firstPageWithRoom].occupied == .max {
            firstPageWithRoom += 1
        }
        let isNew = firstPageWithRoom == pages.count
        let vacant = isNew ? 0 : (~pages[firstPageWithRoom].occupied).trailingZeroBitCount
        let slot = firstPageWithRoom * Page.slotCount + vacant
        let first = base + UInt64(slot * shardCount + shard)
        return SocketID(first, .random(in: 1..<10_000_000_000, using: &random))
    }

    /// Adds a connection under the ID created last; its last receipt is `now`.
    mutating func insert(_ connection: Connection, receivedAt now: UInt32) {
        let (page, slot) = place(of: connection.socketID)
        if page == pages.count { pages.append(Page()) }
        precondition(pages[page].isVacant(slot), "the slot is taken by another connection")
        pages[page].insert(connection, Liveness(now: now), at: slot)
        count += 1
    }

    /// Removes the connection with this ID, if there is one.
    mutating func remove(_ id: SocketID) {
        guard let (page, slot) = place(holding: id) else { return }
        pages[page].remove(at: slot)
        count -= 1
        firstPageWithRoom = min(firstPageWithRoom, page)
        while pages.last?.occupied == 0 { pages.removeLast() }
        // The array shrinks as well, but rarely: a copy has no spare capacity.
        if pages.capacity > 64, pages.count < pages.capacity / 4 { pages = pages.map { $0 } }
        firstPageWithRoom = min(firstPageWithRoom, pages.count)
    }

    /// The open connection of this shard with this ID.
    subscript(id: SocketID) -> Connection? {
        place(holding: id).flatMap { pages[$0.page].connections[$0.slot] }
    }

    /// All connections, in no particular order.
    var all: some Sequence<Connection> {
        pages.lazy.flatMap { $0.connections.lazy.compactMap(\.self) }
    }

    /// Returns up to `count` connections that are not closing yet.
    func open(upTo count: Int) -> [Connection] {
        Array(all.lazy.filter { !$0.isClosing }.prefix(count))
    }

    // MARK: - Liveness

    /// Records that something was received from a connection of this table.
    mutating func received(from id: SocketID, at now: UInt32) {
        let (page, slot) = place(of: id)
        pages[page].liveness[slot].received(at: now)
    }

    /// Changes the liveness of a connection of this table.
    mutating func changeLiveness(of id: SocketID, _ change: (inout Liveness) -> Void) {
        guard let (page, slot) = place(holding: id) else { return }
        change(&pages[page].liveness[slot])
    }

    /// The seconds since something was received from a connection, or since it was pinged; `nil` if it is not here.
    func silence(of id: SocketID, at now: UInt32) -> Int? {
        place(holding: id).map { pages[$0.page].liveness[$0.slot].silence(at: now) }
    }

    /// The indices of the pages, for ``checkLiveness(page:at:_:)``.
    var pageNumbers: Range<Int> { pages.indices }

    /// Returns the connections of one page that are to be pinged or closed.
    mutating func checkLiveness(
        page: Int,
        at now: UInt32,
        _ settings: Liveness.Settings
    ) -> [(Connection, Liveness.Action)] {
        var actions: [(Connection, Liveness.Action)] = []
        var remaining = pages[page].occupied
        while remaining != 0 {
            let slot = remaining.trailingZeroBitCount
            remaining &= remaining - 1
            let action = pages[page].liveness[slot].check(at: now, settings)
            guard action != .wait, let connection = pages[page].connections[slot] else { continue }
            actions.append((connection, action))
        }
        return actions
    }

    /// Calls `body` with each connection of a page and the seconds since something was received from it.
    func forEach(ofPage page: Int, at now: UInt32, _ body: (Connection, Int) -> Void) {
        for (connection, liveness) in zip(pages[page].connections, pages[page].liveness) {
            if let connection { body(connection, liveness.silence(at: now)) }
        }
    }

    // MARK: - Slots

    private func place(of id: SocketID) -> (page: Int, slot: Int) {
        let slot = Int((id.first - base) / UInt64(shardCount))
        return (slot / Page.slotCount, slot % Page.slotCount)
    }

    /// The page and slot of the connection with this ID; `nil` if there is none.
    private func place(holding id: SocketID) -> (page: Int, slot: Int)? {
        // Backends and clients may send any number, including those of other nodes.
        let number = id.first &- base
        guard number < UInt64(pages.count * Page.slotCount * shardCount),
            number % UInt64(shardCount) == UInt64(shard)
        else { return nil }
        let (page, slot) = place(of: id)
        guard pages[page].occupied != 0,
            pages[page].connections[slot]?.socketID == id
        else { return nil }
        return (page, slot)
    }
}
