import PusherProtocol

/// The connections of one shard, found by socket ID without a search.
///
/// The first number of a socket ID is the connection's slot and shard; the second is random, so that nobody guesses
/// another client's ID, and so that the ID of a closed connection never finds its successor in the slot.
///
/// Slots lie in pages. A page without connections holds no memory and is not looked at, and new connections take the
/// first vacant slot: after a peak the table shrinks to the pages of those that are left.
struct ConnectionTable {
    private let shard: Int
    private let shardCount: Int
    private var pages: [Page] = []
    /// No page before this one has a vacant slot.
    private var firstPageWithRoom = 0
    private var random: RandomPool

    /// Sixty-four slots.
    private struct Page {
        static var slotCount: Int { 64 }

        /// A bit for each slot with a connection.
        private(set) var occupied: UInt64 = 0
        /// By slot; empty while no slot is occupied.
        private(set) var connections: [Connection?] = []
        /// When each was heard, side by side: a look at all of them touches no connection.
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

    /// Makes the table of shard number `shard`, whose socket IDs end with numbers of `random`.
    init(shard: Int, shardCount: Int, random: RandomPool) {
        self.random = random
        self.shard = shard
        self.shardCount = shardCount
    }

    /// The number of connections.
    private(set) var count = 0

    /// The number of slots for which the table holds memory, and at which ``judge(page:at:_:)`` looks over all pages.
    var heldSlotCount: Int { pages.count { $0.occupied != 0 } * Page.slotCount }

    /// A fresh socket ID, for the connection to be inserted next.
    mutating func makeSocketID() -> SocketID {
        while firstPageWithRoom < pages.count, pages[firstPageWithRoom].occupied == .max {
            firstPageWithRoom += 1
        }
        let isNew = firstPageWithRoom == pages.count
        let vacant = isNew ? 0 : (~pages[firstPageWithRoom].occupied).trailingZeroBitCount
        let slot = firstPageWithRoom * Page.slotCount + vacant
        let first = UInt64(slot * shardCount + shard)
        return SocketID(first, .random(in: 1..<10_000_000_000, using: &random))
    }

    /// Adds a connection, heard `now`, under the ID made last.
    mutating func insert(_ connection: Connection, heardAt now: UInt32) {
        let (page, slot) = place(of: connection.socketID)
        if page == pages.count { pages.append(Page()) }
        precondition(pages[page].isVacant(slot), "another connection came between")
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
        // The list itself shrinks too, and seldom: a copy has room for no more than it holds.
        if pages.capacity > 64, pages.count < pages.capacity / 4 { pages = pages.map { $0 } }
        firstPageWithRoom = min(firstPageWithRoom, pages.count)
    }

    /// The connection with this ID, if it is one of this shard and still open.
    subscript(id: SocketID) -> Connection? {
        place(holding: id).flatMap { pages[$0.page].connections[$0.slot] }
    }

    /// All connections, in no order.
    var all: some Sequence<Connection> {
        pages.lazy.flatMap { $0.connections.lazy.compactMap(\.self) }
    }

    /// Up to `count` of the connections that are not closing yet.
    func open(upTo count: Int) -> [Connection] {
        Array(all.lazy.filter { !$0.isClosing }.prefix(count))
    }

    // MARK: - Liveness

    /// Notes that a connection of this table was heard.
    mutating func heard(_ id: SocketID, at now: UInt32) {
        let (page, slot) = place(of: id)
        pages[page].liveness[slot].heard(at: now)
    }

    /// The numbers of the pages, for ``judge(page:at:_:)``.
    var pageNumbers: Range<Int> { pages.indices }

    /// The connections of one page about which something is to be done, and what.
    mutating func judge(
        page: Int,
        at now: UInt32,
        _ settings: Liveness.Settings
    ) -> [(Connection, Liveness.Verdict)] {
        var verdicts: [(Connection, Liveness.Verdict)] = []
        var left = pages[page].occupied
        while left != 0 {
            let slot = left.trailingZeroBitCount
            left &= left - 1
            let verdict = pages[page].liveness[slot].judge(at: now, settings)
            guard verdict != .wait, let connection = pages[page].connections[slot] else { continue }
            verdicts.append((connection, verdict))
        }
        return verdicts
    }

    // MARK: - Slots

    private func place(of id: SocketID) -> (page: Int, slot: Int) {
        let slot = Int(id.first / UInt64(shardCount))
        return (slot / Page.slotCount, slot % Page.slotCount)
    }

    /// Where the connection with this ID is; nil if there is none.
    private func place(holding id: SocketID) -> (page: Int, slot: Int)? {
        guard id.first % UInt64(shardCount) == UInt64(shard) else { return nil }
        let (page, slot) = place(of: id)
        guard page < pages.count, pages[page].occupied != 0,
            pages[page].connections[slot]?.socketID == id
        else { return nil }
        return (page, slot)
    }
}
