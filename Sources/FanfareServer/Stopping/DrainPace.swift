/// How many clients a stop has closed by when.
///
/// An even stream of them rather than a burst: all come back at once, to this broker's successor or its neighbours.
struct DrainPace: Sendable {
    private let perSecond: Double

    /// Plans the way.
    ///
    /// - Parameters:
    ///   - perSecond: The clients to close each second.
    ///   - count: The clients there are. None is to be left without a word at the end, so the pace is raised for them
    ///     to be closed in four fifths of the time; in the rest the last ones hear of it.
    ///   - time: What there is until the deadline.
    init(perSecond: Int, count: Int, time: Duration) {
        let seconds = time / .seconds(1)
        let needed = seconds > 0 ? Double(count) / (seconds * 0.8) : .infinity
        self.perSecond = max(Double(perSecond), needed)
    }

    /// How many are to be closed by the end of a time.
    ///
    /// - Parameters:
    ///   - elapsed: The time since the first was closed.
    ///   - count: The clients there are.
    /// - Returns: A number up to `count`.
    func closedCount(after elapsed: Duration, of count: Int) -> Int {
        guard perSecond < .infinity else { return count }
        return Int(min((elapsed / .seconds(1) * perSecond).rounded(.up), Double(count)))
    }
}
