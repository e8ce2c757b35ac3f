/// How often something may happen: so many times at once, and as many again every second.
///
/// A bucket of tokens, of which each time takes one, filled evenly. All that a bucket has to remember is the time at
/// which it will be full again (the generic cell rate algorithm, ITU-T I.371).
public struct Rate: Sendable, Equatable {
    /// The times a second, which is also how many tokens a full bucket holds.
    public let perSecond: Int
    /// The nanoseconds in which one token comes back.
    private let interval: Int64

    /// Makes a rate of 1 to 1,000,000,000 times a second.
    public init(perSecond: Int) {
        precondition((1...1_000_000_000).contains(perSecond), "no rate")
        self.perSecond = perSecond
        interval = 1_000_000_000 / Int64(perSecond)
    }

    /// Takes a token from a bucket.
    ///
    /// - Parameters:
    ///   - fullAt: When it would be full otherwise, in nanoseconds on a steady clock.
    ///   - now: The time on the same clock; loops that share a bucket may differ by a turn.
    /// - Returns: When it will be full now; `nil` when there is no token.
    @inline(__always)
    func afterTaking(from fullAt: Int64, at now: Int64) -> Int64? {
        let next = max(fullAt, now) + interval
        return next - now <= interval * Int64(perSecond) ? next : nil
    }
}
