#if canImport(Darwin)
    import Primitives
#else
    import Synchronization
#endif

/// The remaining tokens of one connection, in eight bytes; full at first.
public struct TokenBucket: Sendable {
    /// The time at which it is full, in nanoseconds of a steady clock.
    private var fullAt = Int64.min

    /// Creates a full bucket.
    public init() {}

    /// Whether it is full, and so equal to a new one.
    public func isFull(at now: Int64) -> Bool { fullAt <= now }

    /// Takes a token at a time in nanoseconds of a steady clock, and returns whether there was one.
    public mutating func take(at now: Int64, _ rate: Rate) -> Bool {
        guard let next = rate.afterTaking(from: fullAt, at: now) else { return false }
        fullAt = next
        return true
    }
}

/// A lock-free token bucket shared by all loops, for example for the requests of an app.
///
/// In a cluster each node has a share of the rate.
public final class SharedTokenBucket: Sendable {
    /// The refill rate and the capacity.
    public let rate: Rate
    private let share: Atomic<Int>
    private let asked = Atomic(0)
    private let fullAt = Atomic(Int64.min)

    /// Creates a full bucket.
    public init(_ rate: Rate) {
        self.rate = rate
        share = Atomic(rate.perSecond)
    }

    /// How often a token was requested.
    public var askedCount: Int { asked.load(ordering: .relaxed) }

    /// The present refill rate and capacity, per second.
    public var sharePerSecond: Int { share.load(ordering: .relaxed) }

    /// Changes the refill rate and the capacity to a share of the rate; at least 1 per second.
    public func resize(to perSecond: Int) {
        share.store(max(1, min(perSecond, rate.perSecond)), ordering: .relaxed)
    }

    /// Takes a token; see ``TokenBucket/take(at:_:)``.
    public func take(at now: Int64) -> Bool {
        asked.add(1, ordering: .relaxed)
        let rate = Rate(perSecond: share.load(ordering: .relaxed))
        var seen = fullAt.load(ordering: .relaxed)
        while true {
            guard let next = rate.afterTaking(from: seen, at: now) else { return false }
            let (isTaken, current) = fullAt.weakCompareExchange(
                expected: seen,
                desired: next,
                ordering: .relaxed
            )
            if isTaken { return true }
            seen = current
        }
    }
}
