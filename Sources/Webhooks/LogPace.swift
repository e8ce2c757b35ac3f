/// Keeps a log from being flooded: the first of its kind is told at once, further ones together.
struct LogPace: Sendable {
    /// The time between two records, in milliseconds.
    static let period: Int64 = 10_000

    private var untold = 0
    private var last: Int64?

    /// Counts things that are worth a record.
    ///
    /// - Parameters:
    ///   - number: How many.
    ///   - now: The time, in milliseconds.
    /// - Returns: How many a record now would stand for, or `nil` when it is too early for one.
    mutating func count(_ number: Int = 1, at now: Int64) -> Int? {
        untold += number
        if let last, now - last < Self.period { return nil }
        last = now
        defer { untold = 0 }
        return untold
    }
}
