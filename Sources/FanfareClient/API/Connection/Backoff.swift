/// The delay before a client reconnects.
///
/// The delay is `floor` plus a random part, uniform in a window that doubles with each attempt ("full jitter"). The
/// clients of a restarted broker therefore do not all reconnect at once.
public struct Backoff: Sendable, Hashable {
    package var floor: Duration
    package var window: Duration
    package var cap: Duration

    /// Creates a backoff of `floor` plus up to `window`, doubled with each failure, and at most `cap`.
    ///
    /// - Parameters:
    ///   - floor: The shortest delay, not negative; after a close code 4100–4199 it is at least one second.
    ///   - window: The window of the random part after the first failure, not negative; each further failure doubles
    ///     it.
    ///   - cap: The longest delay, floor plus random part; at least `floor`.
    public init(
        floor: Duration = .seconds(1),
        window: Duration = .seconds(1),
        cap: Duration = .seconds(30)
    ) {
        precondition(floor >= .zero && window >= .zero, "delays must not be negative")
        precondition(cap >= floor, "cap must not be less than floor")
        self.floor = floor
        self.window = window
        self.cap = cap
    }

    /// Returns a random delay between `floor` and `cap` after this many consecutive failures.
    package func delay(failures: Int, using generator: inout some RandomNumberGenerator) -> Duration
    {
        // 2^16 windows exceed any practical cap, and do not overflow a Duration.
        let widest = min(window * (1 << min(failures, 16)), cap - floor)
        return floor + widest * Double.random(in: 0...1, using: &generator)
    }
}
