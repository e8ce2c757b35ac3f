/// The pauses between attempts to connect.
///
/// The first attempt follows almost at once, because a failover is short; each later pause is twice as long. A random
/// part of up to half a pause separates the attempts of nodes that have lost the same server.
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

    /// Returns the pause before the next attempt: at least half of the whole pause, depending on a random number.
    public mutating func pause(random: UInt64) -> Duration {
        let whole = min(next, longest)
        next = min(whole * 2, longest)
        return whole / 2 + whole / 2 * (Double(random >> 11) * 0x1p-53)
    }

    /// Begins anew, after a connection was open.
    public mutating func reset() { next = shortest }
}
