/// When a webhook that failed is tried again.
struct RetryPlan: Sendable {
    /// How long after its `time_ms` a webhook may still be sent, in milliseconds.
    let period: Int64

    /// The pause before the next attempt, without jitter.
    ///
    /// - Parameter attempts: The attempts made, from one.
    /// - Returns: 1, 2, 4, 8, 16, 32 seconds, and then always 60, in milliseconds.
    static func pause(after attempts: Int) -> Int64 {
        attempts <= 6 ? 1_000 << Int64(max(attempts, 1) - 1) : 60_000
    }

    /// Whether a webhook is too old to be sent.
    ///
    /// - Parameters:
    ///   - time: Its `time_ms`.
    ///   - now: The time, in milliseconds since 1970.
    /// - Returns: Whether receivers would refuse it.
    func isOver(for time: Int64, at now: Int64) -> Bool { now - time > period }

    /// Decides when to try again.
    ///
    /// - Parameters:
    ///   - delivery: What has failed.
    ///   - now: The time, in milliseconds since 1970.
    ///   - random: Where the jitter comes from, a fifth more or less: endpoints that fail together must not be asked
    ///     together again.
    /// - Returns: The pause in milliseconds, or `nil` when it would be too late afterwards.
    func pause(
        for delivery: Delivery,
        at now: Int64,
        random: inout some RandomNumberGenerator
    ) -> Int64? {
        let whole = Self.pause(after: delivery.attempts)
        let pause = Int64.random(in: whole - whole / 5...whole + whole / 5, using: &random)
        return isOver(for: delivery.time, at: now + pause) ? nil : pause
    }
}
