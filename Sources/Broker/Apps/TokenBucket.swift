import Synchronization

/// The tokens that one connection has left, in eight bytes; full at first.
public struct TokenBucket: Sendable {
    /// When it will be full again, in nanoseconds on a steady clock.
    private var fullAt = Int64.min

    /// Makes a full bucket.
    public init() {}

    /// Whether it is full: then another, new one would do as well.
    public func isFull(at now: Int64) -> Bool { fullAt <= now }

    /// Takes a token.
    ///
    /// - Parameters:
    ///   - now: The time in nanoseconds, on the same steady clock every time.
    ///   - rate: How fast tokens come back, and how many there can be.
    /// - Returns: Whether there was one.
    public mutating func take(at now: Int64, _ rate: Rate) -> Bool {
        guard let next = rate.afterTaking(from: fullAt, at: now) else { return false }
        fullAt = next
        return true
    }
}

/// The tokens that all loops share, as for the requests of an app; nobody waits for a lock.
public final class SharedTokenBucket: Sendable {
    /// How fast tokens come back, and how many there can be.
    public let rate: Rate
    private let fullAt = Atomic(Int64.min)

    /// Makes a full bucket.
    public init(_ rate: Rate) { self.rate = rate }

    /// Takes a token; see ``TokenBucket/take(at:_:)``.
    public func take(at now: Int64) -> Bool {
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
