/// How long a client stays away before it tries to connect again.
///
/// The delay is `floor` and a random part, drawn evenly from a window that doubles with each
/// attempt ("full jitter"): the clients of a broker that restarts come back spread out, not as one.
public struct Backoff: Sendable, Hashable {
    /// What every delay has at least; after a 4100–4199 close a second, if this is less.
    public var floor: Duration
    /// The window of the random part after the first failure; each further one doubles it.
    public var window: Duration
    /// The longest delay, floor and random part together.
    public var cap: Duration

    /// Waits `floor` and up to `window`, doubled with each failure, and `cap` at most.
    ///
    /// - Parameters:
    ///   - floor: Not negative.
    ///   - window: Not negative.
    ///   - cap: At least `floor`.
    public init(
        floor: Duration = .seconds(1),
        window: Duration = .seconds(1),
        cap: Duration = .seconds(30)
    ) {
        precondition(floor >= .zero && window >= .zero, "a delay cannot be negative")
        precondition(cap >= floor, "the longest delay is shorter than the shortest")
        self.floor = floor
        self.window = window
        self.cap = cap
    }

    /// Draws the delay before an attempt.
    ///
    /// - Parameters:
    ///   - failures: How many attempts in a row have failed before this one, from zero.
    ///   - generator: The source of the random part.
    /// - Returns: A delay between ``floor`` and ``cap``.
    package func delay(failures: Int, using generator: inout some RandomNumberGenerator) -> Duration
    {
        // 2^16 windows are past any cap in use, and far from overflowing a Duration.
        let widest = min(window * (1 << min(failures, 16)), cap - floor)
        return floor + widest * Double.random(in: 0...1, using: &generator)
    }
}
