/// The schedule of retries.
struct RetryPlan: Sendable {
    /// The time after its creation within which a webhook may be sent, in milliseconds, because receivers check its
    /// `time_ms`.
    let period: Int64

    /// The pause before the next attempt, without jitter, after a number of attempts, from one.
    ///
    /// - Returns: 1, 2, 4, 8, 16, 32 seconds, and then always 60, in milliseconds.
    static func pause(after attempts: Int) -> Int64 {
        attempts <= 6 ? 1_000 << Int64(max(attempts, 1) - 1) : 60_000
    }

    /// Whether a webhook is so old that receivers would refuse it; both times are in milliseconds of
    /// ``WebhookClock/uptime``.
    func isOver(since birth: Int64, at now: Int64) -> Bool { now - birth > period }

    /// Returns the pause before the next attempt.
    ///
    /// - Parameters:
    ///   - delivery: The failed webhook.
    ///   - now: The time, in milliseconds of ``WebhookClock/uptime``.
    ///   - random: The source of the jitter of ±20 %, which spreads the retries of endpoints that fail together.
    /// - Returns: The pause in milliseconds; `nil` if the webhook would be too old afterwards.
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
