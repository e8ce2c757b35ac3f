/// The pauses between attempts to connect.
///
/// The first attempt comes almost at once, since a failover is over soon; later ones wait twice as long each. A random
/// part of a half keeps nodes apart that have lost the same server.
public struct ReconnectBackoff: Hashable, Sendable {
    /// The longest pause before the first attempt.
    public var shortest: Duration
    /// The longest pause.
    public var longest: Duration
    private var next: Duration

    /// Makes the pauses of a connection that was open.
    public init(shortest: Duration = .milliseconds(50), longest: Duration = .seconds(1)) {
        self.shortest = shortest
        self.longest = longest
        next = shortest
    }

    /// Returns the pause before the next attempt.
    ///
    /// - Parameter random: A random number.
    /// - Returns: Half of the whole pause, or more.
    public mutating func pause(random: UInt64) -> Duration {
        let whole = min(next, longest)
        next = min(whole * 2, longest)
        return whole / 2 + whole / 2 * (Double(random >> 11) * 0x1p-53)
    }

    /// Begins anew, after a connection was open.
    public mutating func reset() { next = shortest }
}
