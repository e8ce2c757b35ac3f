/// A rate limit: up to `perSecond` times at once, and as many again every second.
///
/// A token bucket that is refilled evenly. Its only state is the time at which it is full again (the generic cell rate
/// algorithm, ITU-T I.371).
public struct Rate: Sendable, Equatable {
    /// The times per second, and the capacity of the bucket.
    public let perSecond: Int
    /// The nanoseconds after which one token is added.
    private let interval: Int64

    /// Creates a rate of 1 to 1,000,000,000 times per second.
    public init(perSecond: Int) {
        precondition((1...1_000_000_000).contains(perSecond), "the rate is out of range")
        self.perSecond = perSecond
        interval = 1_000_000_000 / Int64(perSecond)
    }

    /// Takes a token from a bucket.
    ///
    /// - Parameters:
    ///   - fullAt: The time at which the bucket is full, in nanoseconds of a steady clock.
    ///   - now: The time of the same clock; loops that share a bucket may differ by a turn.
    /// - Returns: The new time at which it is full; `nil` if there is no token.
    @inline(__always)
    func afterTaking(from fullAt: Int64, at now: Int64) -> Int64? {
        let next = max(fullAt, now) + interval
        return next - now <= interval * Int64(perSecond) ? next : nil
    }
}
