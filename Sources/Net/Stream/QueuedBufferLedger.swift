/// How much memory queues may hold, and hold: of one reactor, or of a part of its streams.
///
/// Confined to the reactor's thread.
public final class MemoryBudget {
    // Unchecked is the exclusive access to two numbers that each newcomer is measured by.

    /// Bytes of memory that are held; see ``QueuedBufferLedger``.
    @exclusivity(unchecked) public private(set) var byteCount = 0

    /// Past so many bytes the longest queues are given up, one after the other, until an eighth is free.
    @exclusivity(unchecked) public var byteCountMax: Int {
        didSet { alarmCount = byteCountMax }
    }

    /// Past so many bytes something is to be done: more than the maximum where that was in vain.
    private var alarmCount: Int

    /// Makes an account of which nothing is used.
    public init(byteCountMax: Int = .max) {
        self.byteCountMax = byteCountMax
        alarmCount = byteCountMax
    }

    /// Whether three quarters are used: the time to let nobody else in.
    public var isNearlyFull: Bool { byteCount > byteCountMax - byteCountMax / 4 }

    /// Whether queues have to be given up.
    var isOverdrawn: Bool { byteCount > byteCountMax - byteCountMax / 8 }

    /// Adds to what is held.
    ///
    /// - Returns: Whether it is too much from here on.
    func charge(_ count: Int) -> Bool {
        byteCount += count
        return byteCount > alarmCount
    }

    /// Takes back what was added.
    func refund(_ count: Int) {
        byteCount -= count
        if byteCount <= byteCountMax { alarmCount = byteCountMax }
    }

    /// Takes in that what could be done is done.
    func quieten() {
        let (next, isOver) = byteCount.addingReportingOverflow(byteCountMax / 16 + 1)
        alarmCount = max(byteCountMax, isOver ? .max : next)
    }
}

/// The buffers that queues of one reactor hold because the kernel has no room for them.
///
/// A frame for a thousand readers that have all stopped is held once, however many queues refer to it: so each buffer
/// is counted once, with what its places in the queues take. What is written and sent within a turn is never entered.
///
/// Confined to the reactor's thread.
final class QueuedBufferLedger {
    private struct Entry {
        var references: Int
        let length: Int
        let account: MemoryBudget?
    }

    /// By the address of the first byte, which is nobody else's while a queue refers to the buffer.
    private var entries: [UnsafeRawPointer: Entry] = [:]
    /// What all queues hold together.
    let total = MemoryBudget()
    /// The accounts that hold too much; few at a time.
    private(set) var overdrawn: [MemoryBudget] = []

    /// What a buffer takes beside its bytes: its header, and its entry here.
    static var bufferOverhead: Int { 96 }
    /// What a place in a queue takes, in an array that may have twice the room.
    static var placeLength: Int { 16 }

    /// Enters one more reference to a buffer.
    ///
    /// - Parameters:
    ///   - bytes: The buffer, not empty.
    ///   - account: Whose it is, beside everybody's; the first to refer to a buffer decides.
    func retain(_ bytes: [UInt8], for account: MemoryBudget?) {
        guard let address = Self.address(of: bytes) else { return }
        if var entry = entries[address] {
            entry.references += 1
            entries[address] = entry
            return charge(Self.placeLength, entry.account)
        }
        let length = bytes.count + Self.bufferOverhead
        entries[address] = Entry(references: 1, length: length, account: account)
        charge(length + Self.placeLength, account)
    }

    /// Strikes one reference off.
    func release(_ bytes: [UInt8]) {
        guard let address = Self.address(of: bytes), var entry = entries[address] else { return }
        entry.references -= 1
        let isLast = entry.references == 0
        entries[address] = isLast ? nil : entry
        let count = Self.placeLength + (isLast ? entry.length : 0)
        total.refund(count)
        entry.account?.refund(count)
    }

    /// Takes the accounts that hold too much.
    func takeOverdrawn() -> [MemoryBudget] { exchange(&overdrawn, with: []) }

    private func charge(_ count: Int, _ account: MemoryBudget?) {
        if total.charge(count) { note(total) }
        if let account, account.charge(count) { note(account) }
    }

    private func note(_ account: MemoryBudget) {
        if !overdrawn.contains(where: { $0 === account }) { overdrawn.append(account) }
    }

    private static func address(of bytes: [UInt8]) -> UnsafeRawPointer? {
        bytes.withUnsafeBytes { $0.baseAddress }
    }
}

extension Stream {
    /// Counts what is queued, and what will be until the queue is empty, as held: the kernel has no room for it.
    @inline(never)
    func hold() {
        guard !pendingOutput.isEmpty else { return }
        let queue = makeQueue()
        if !queue.isHeld {
            queue.hold(in: reactor.held, for: currentOwner.queueAccount(of: self))
        }
        updateLag()
    }
}

extension Reactor {
    /// What the queues of all its streams hold, and may hold.
    public var queueAccount: MemoryBudget { held.total }

    /// Has the owners of the longest queues give them up, where accounts hold too much.
    func relieveAccounts() {
        for account in held.takeOverdrawn() {
            var streams = streams.compactMap { stream -> Stream? in
                guard let stream, stream.isOpen,
                    case .queue(let queue) = stream.pendingOutput, queue.isHeld,
                    account === held.total || queue.account === account
                else { return nil }
                return stream
            }
            streams.sort { $0.queuedByteCount > $1.queuedByteCount }
            for stream in streams where account.isOverdrawn {
                stream.currentOwner.streamOverdrawn(stream, account)
                if stream.isOpen { stream.end(with: .overdrawn(limit: account.byteCountMax)) }
            }
            account.quieten()
        }
    }
}
