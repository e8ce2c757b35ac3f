import Primitives

/// The memory of data read from the archive, from just before the read until the data is queued for its client.
///
/// After that the budgets of the queues count it. Shared by the archive and all shards.
public final class ArchiveReadBudget: Sendable {
    private struct State {
        var byteCount = 0
        /// Whether a read was refused, so that a return of bytes has to be reported.
        var isAwaited = false
        var bytesReturned: @Sendable () -> Void = {}
    }

    private let byteCountMax: Int
    private let state = Lock(State())

    /// Creates an unused budget of this many bytes; a single read may exceed it.
    public init(byteCountMax: Int = .max) { self.byteCountMax = byteCountMax }

    /// The number of bytes in memory.
    public var byteCount: Int { state.withLock { $0.byteCount } }

    /// Sets what is called, on any thread, when bytes are returned after a read was refused.
    public func setHandler(_ bytesReturned: @escaping @Sendable () -> Void) {
        state.withLock { $0.bytesReturned = bytesReturned }
    }

    /// Charges a read, if it fits or if there is no other.
    fileprivate func charge(_ byteCount: Int) -> Bool {
        state.withLock { state in
            let (sum, overflows) = state.byteCount.addingReportingOverflow(byteCount)
            guard state.byteCount == 0 || !overflows && sum <= byteCountMax else {
                state.isAwaited = true
                return false
            }
            state.byteCount = sum
            return true
        }
    }

    fileprivate func add(_ byteCount: Int) {
        let bytesReturned = state.withLock { state in
            state.byteCount += byteCount
            guard byteCount < 0, state.isAwaited else { return nil as (@Sendable () -> Void)? }
            state.isAwaited = false
            return state.bytesReturned
        }
        bytesReturned?()
    }
}

/// One read of the archive: whether its result is still wanted, and the memory that it takes.
///
/// Every holder of the result retains this object. Its bytes return to the budget with the last reference.
public final class ArchiveRead: Sendable {
    private let wanted = Lock(true)
    private let charged = Lock<(budget: ArchiveReadBudget, byteCount: Int)?>(nil)

    /// Creates a read that is not charged.
    public init() {}

    deinit { resize(to: 0) }

    /// Whether the result is still wanted.
    public var isWanted: Bool { wanted.load() }

    /// Cancels the read, because its client has disconnected.
    public func cancel() { wanted.exchange(false) }

    /// Charges the maximum size of the result, in bytes, to a budget before the read; false if there is no room.
    public func charge(_ byteCount: Int, to budget: ArchiveReadBudget) -> Bool {
        resize(to: 0)
        guard budget.charge(byteCount) else { return false }
        charged.withLock { $0 = (budget, byteCount) }
        return true
    }

    /// Changes the charge to the size of the result, in bytes.
    public func resize(to byteCount: Int) {
        let change: (budget: ArchiveReadBudget, byteCount: Int)? = charged.withLock { charged in
            guard let former = charged else { return nil }
            charged = byteCount > 0 ? (former.budget, byteCount) : nil
            return (former.budget, byteCount - former.byteCount)
        }
        if let change { change.budget.add(change.byteCount) }
    }
}

extension ArchivePage {
    /// The memory of the messages, in bytes.
    public var memoryByteCount: Int {
        messages.reduce(0) { $0 + $1.envelope.byteCount + Self.messageOverhead }
    }

    /// The memory of a message in addition to its envelope.
    private static var messageOverhead: Int { MemoryLayout<StoredMessage>.stride + 32 }
}
