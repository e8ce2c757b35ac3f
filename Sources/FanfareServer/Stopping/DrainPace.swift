/// The rate at which a stop closes clients.
///
/// Evenly spread rather than in a burst, since all clients reconnect at once, to another broker.
struct DrainPace: Sendable {
    private let perSecond: Double

    /// Creates a pace.
    ///
    /// - Parameters:
    ///   - perSecond: The number of clients to close each second.
    ///   - count: The number of clients. The pace is raised so that all are closed within four fifths of the time; the
    ///     rest is for the last ones to receive their close frame.
    ///     to be closed in four fifths of the time; in the rest the last ones hear of it.
    ///   - time: The time until the deadline.
    init(perSecond: Int, count: Int, time: Duration) {
        let seconds = time / .seconds(1)
        let needed = seconds > 0 ? Double(count) / (seconds * 0.8) : .infinity
        self.perSecond = max(Double(perSecond), needed)
    }

    /// Returns how many clients are to be closed by a time.
    ///
    /// - Parameters:
    ///   - elapsed: The time since the first client was closed.
    ///   - count: The number of clients.
    /// - Returns: A number up to `count`.
    func closedCount(after elapsed: Duration, of count: Int) -> Int {
        guard perSecond < .infinity else { return count }
        return Int(min((elapsed / .seconds(1) * perSecond).rounded(.up), Double(count)))
    }
}
