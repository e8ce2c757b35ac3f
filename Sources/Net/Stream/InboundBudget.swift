/// The memory for what has come in and is not dealt with yet: events before their fan-out, and requests and messages of
/// which a part has arrived.
///
/// It is a share of its own beside ``MemoryBudget``, so that what is taken in too fast never closes a reader: whoever
/// adds to it is slowed down or refused instead. Confined to the reactor's thread.
public final class InboundBudget {
    // Unchecked is the exclusive access to numbers that every published event changes.

    /// Bytes that are held.
    @exclusivity(unchecked) public private(set) var byteCount = 0

    /// Past so many bytes nothing more is to be taken in.
    @exclusivity(unchecked) public var byteCountMax: Int

    /// The most that was held since it was last taken; see ``takePeak()``.
    @exclusivity(unchecked) private var peak = 0

    /// Makes a budget of which nothing is used.
    public init(byteCountMax: Int = .max) { self.byteCountMax = byteCountMax }

    /// Whether nothing more is to be taken in.
    public var isExhausted: Bool { byteCount >= byteCountMax }

    /// Whether more than half is used: the time to take in less.
    public var isFilling: Bool { byteCount > byteCountMax / 2 }

    /// Adds bytes that are held from now on, also beyond the maximum: ask ``isExhausted`` before taking in more.
    public func charge(_ count: Int) {
        byteCount += count
        peak = max(peak, byteCount)
    }

    /// Subtracts bytes that are no longer held.
    public func refund(_ count: Int) {
        byteCount -= count
        assert(byteCount >= 0, "more was given back than was taken")
    }

    /// Returns the most bytes that were held at a time since the last call.
    public func takePeak() -> Int {
        defer { peak = byteCount }
        return peak
    }
}
