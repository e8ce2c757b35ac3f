internal import Glibc
internal import Primitives

/// The two clocks of webhooks.
protocol WebhookClock: Sendable {
    /// The time for `time_ms`: milliseconds since 1970. It may jump.
    var unixTime: Int64 { get }
    /// The time for delays: monotonic milliseconds.
    var uptime: Int64 { get }
    /// Waits until ``uptime`` has reached a value in milliseconds; throws `CancellationError` when the task is
    /// cancelled.
    func sleep(until uptime: Int64) async throws
}

/// The system's clocks.
struct SystemClock: WebhookClock {
    private let start = ContinuousClock.now

    var unixTime: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }

    var uptime: Int64 { start.duration(to: .now).wholeMilliseconds }

    func sleep(until uptime: Int64) async throws {
        try await ContinuousClock().sleep(until: start.advanced(by: .milliseconds(uptime)))
    }
}
