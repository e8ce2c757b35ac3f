/// The time a client goes by: the system's, or a test's.
public struct ClientClock: Sendable {
    /// The time since some fixed moment.
    package let now: @Sendable () -> Duration
    /// Returns at a moment of `now`, or throws when the task is cancelled.
    ///
    /// A moment, and not a time from now: the task that sleeps may begin to do so late.
    package let sleep: @Sendable (_ until: Duration) async throws -> Void

    /// Goes by `clock`.
    public init<C: Clock>(_ clock: C) where C.Duration == Duration {
        let origin = clock.now
        now = { origin.duration(to: clock.now) }
        sleep = { try await clock.sleep(until: origin.advanced(by: $0), tolerance: nil) }
    }

    /// Goes on while the machine sleeps, so that a dead connection is noticed on waking.
    public static var continuous: ClientClock { ClientClock(ContinuousClock()) }
}
