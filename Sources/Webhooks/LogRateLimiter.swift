/// Limits the rate of log records: the first of a kind is logged at once, later ones are counted.
struct LogRateLimiter: Sendable {
    /// The minimum time between two records, in milliseconds.
    static let period: Int64 = 10_000

    private var unlogged = 0
    private var last: Int64?

    /// Counts occurrences at a time in milliseconds.
    ///
    /// - Returns: The number of occurrences that a record now represents; `nil` if it is too early for one.
    mutating func count(_ number: Int = 1, at now: Int64) -> Int? {
        unlogged += number
        if let last, now - last < Self.period { return nil }
        last = now
        defer { unlogged = 0 }
        return unlogged
    }
}
