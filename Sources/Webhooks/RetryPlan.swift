/// When a webhook that failed is tried again.
struct RetryPlan: Sendable {
    /// How long a webhook may be sent after it was made, in milliseconds: receivers look at its `time_ms`.
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
    ///   - birth: When it was made, in milliseconds of ``WebhookClock/uptime``.
    ///   - now: The time by the same clock.
    /// - Returns: Whether receivers would refuse it.
    func isOver(since birth: Int64, at now: Int64) -> Bool { now - birth > period }

    /// Decides when to try again.
    ///
    /// - Parameters:
    ///   - delivery: What has failed.
    ///   - now: The time, in milliseconds of ``WebhookClock/uptime``.
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
        return isOver(since: delivery.birth, at: now + pause) ? nil : pause
    }
}
