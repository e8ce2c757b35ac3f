/// The clock of a client: the system's, or a test's.
public struct ClientClock: Sendable {
    /// The time since a fixed instant.
    package let now: @Sendable () -> Duration
    /// Returns at an instant of `now`, or throws when the task is cancelled.
    ///
    /// An instant, not a duration: the sleeping task may start late.
    package let sleep: @Sendable (_ until: Duration) async throws -> Void

    /// Wraps a clock.
    public init<C: Clock>(_ clock: C) where C.Duration == Duration {
        let origin = clock.now
        now = { origin.duration(to: clock.now) }
        sleep = { try await clock.sleep(until: origin.advanced(by: $0), tolerance: nil) }
    }

    /// The default.
    ///
    /// It advances while the machine sleeps, so that a dead connection is noticed on waking.
    public static var continuous: ClientClock { ClientClock(ContinuousClock()) }
}
