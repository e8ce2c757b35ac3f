/// The memory of input that is not processed yet: events before their fan-out, and incomplete requests and messages.
///
/// It is separate from ``MemoryBudget``, so that input that arrives too fast never closes a reader; its senders are
/// slowed down or refused instead. Confined to the reactor's thread.
public final class InboundBudget {
    // Exclusive access is unchecked for numbers that every published event changes.

    /// The number of bytes in use.
    @exclusivity(unchecked) public private(set) var byteCount = 0

    /// The limit, in bytes, from which on no more input should be accepted.
    @exclusivity(unchecked) public var byteCountMax: Int

    /// The peak of `byteCount` since the last ``takePeak()``.
    @exclusivity(unchecked) private var peak = 0

    /// Makes an unused budget.
    public init(byteCountMax: Int = .max) { self.byteCountMax = byteCountMax }

    /// Whether no more input should be accepted.
    public var isExhausted: Bool { byteCount >= byteCountMax }

    /// Whether more than half is used, so that less input should be accepted.
    public var isFilling: Bool { byteCount > byteCountMax / 2 }

    /// Adds bytes in use, even beyond the limit: check ``isExhausted`` before accepting input.
    public func charge(_ count: Int) {
        byteCount += count
        peak = max(peak, byteCount)
    }

    /// Subtracts bytes that are no longer in use.
    public func refund(_ count: Int) {
        byteCount -= count
        assert(byteCount >= 0, "more was refunded than charged")
    }

    /// Returns the maximum number of bytes in use at a time since the last call.
    public func takePeak() -> Int {
        defer { peak = byteCount }
        return peak
    }
}
