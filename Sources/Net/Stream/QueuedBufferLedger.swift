/// The memory that the output queues of a reactor, or of some of its streams, use, and its limit.
///
/// Confined to the reactor's thread.
public final class MemoryBudget {
    // Exclusive access is unchecked for two numbers that are read for each new connection.

    /// The number of bytes in use; see ``QueuedBufferLedger``.
    @exclusivity(unchecked) public private(set) var byteCount = 0

    /// The limit, in bytes.
    ///
    /// Past it the connections with the longest queues are closed until an eighth is free.
    @exclusivity(unchecked) public var byteCountMax: Int {
        didSet { threshold = byteCountMax }
    }

    /// The byte count past which connections are closed; more than the limit after an attempt that did not suffice.
    private var threshold: Int

    /// Makes an unused budget.
    public init(byteCountMax: Int = .max) {
        self.byteCountMax = byteCountMax
        threshold = byteCountMax
    }

    /// Whether more than three quarters are used, so that new connections should be refused.
    public var isNearlyFull: Bool { byteCount > byteCountMax - byteCountMax / 4 }

    /// Whether more than 7/8 are used, so that further connections have to be closed.
    var exceedsTarget: Bool { byteCount > byteCountMax - byteCountMax / 8 }

    /// Adds bytes in use, and returns whether the threshold is exceeded.
    func charge(_ count: Int) -> Bool {
        byteCount += count
        return byteCount > threshold
    }

    /// Subtracts bytes that are no longer in use.
    func refund(_ count: Int) {
        byteCount -= count
        if byteCount <= byteCountMax { threshold = byteCountMax }
    }

    /// Raises the threshold above the current use, after all that can be closed has been closed.
    func raiseThreshold() {
        let (next, isOver) = byteCount.addingReportingOverflow(byteCountMax / 16 + 1)
        threshold = max(byteCountMax, isOver ? .max : next)
    }
}

/// The buffers that are queued by a reactor's streams because the kernel's send buffers are full.
///
/// A frame for a thousand stalled readers is in memory once, however many queues refer to it. Therefore each buffer is
/// counted once, and each reference to it adds 16 bytes. Bytes that are sent in the turn in which they are written are
/// never counted.
///
/// Confined to the reactor's thread.
final class QueuedBufferLedger {
    private struct Entry {
        var references: Int
        let length: Int
        let budget: MemoryBudget?
    }

    /// The entries by address of the first byte, which is unique while a queue refers to the buffer.
    private var entries: [UnsafeRawPointer: Entry] = [:]
    /// The budget of all queues together.
    let total = MemoryBudget()
    /// The budgets over their thresholds; few at a time.
    private(set) var overLimit: [MemoryBudget] = []

    /// The memory of a buffer in addition to its bytes: its header and its entry here.
    static var bufferOverhead: Int { 96 }
    /// The memory of a queue's reference to a buffer, in an array whose capacity may be twice its count.
    static var slotLength: Int { 16 }

    /// Adds a reference to a buffer.
    ///
    /// - Parameters:
    ///   - bytes: The buffer, not empty.
    ///   - budget: The budget to charge besides `total`; only the budget of a buffer's first reference is charged.
    func retain(_ bytes: [UInt8], for budget: MemoryBudget?) {
        guard let address = Self.address(of: bytes) else { return }
        if var entry = entries[address] {
            entry.references += 1
            entries[address] = entry
            return charge(Self.slotLength, entry.budget)
        }
        let length = bytes.count + Self.bufferOverhead
        entries[address] = Entry(references: 1, length: length, budget: budget)
        charge(length + Self.slotLength, budget)
    }

    /// Removes a reference to a buffer.
    func release(_ bytes: [UInt8]) {
        guard let address = Self.address(of: bytes), var entry = entries[address] else { return }
        entry.references -= 1
        let isLast = entry.references == 0
        entries[address] = isLast ? nil : entry
        let count = Self.slotLength + (isLast ? entry.length : 0)
        total.refund(count)
        entry.budget?.refund(count)
    }

    /// Removes and returns the budgets over their thresholds.
    func takeOverLimit() -> [MemoryBudget] { exchange(&overLimit, with: []) }

    private func charge(_ count: Int, _ budget: MemoryBudget?) {
        if total.charge(count) { report(total) }
        if let budget, budget.charge(count) { report(budget) }
    }

    private func report(_ budget: MemoryBudget) {
        if !overLimit.contains(where: { $0 === budget }) { overLimit.append(budget) }
    }

    private static func address(of bytes: [UInt8]) -> UnsafeRawPointer? {
        bytes.withUnsafeBytes { $0.baseAddress }
    }
}
