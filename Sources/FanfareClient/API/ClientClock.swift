/// The clock of a client: the system's or a test's.
public struct ClientClock: Sendable {
    /// The time since a fixed instant.
    package let now: @Sendable () -> Duration
    /// Returns at an instant of `now`; throws when the task is cancelled.
    ///
    /// The argument is an instant, not a duration, because the sleeping task may start late.
    package let sleep: @Sendable (_ until: Duration) async throws -> Void
    /// Starts a timer: calls a function at an instant of `now`, unless the task is cancelled first.
    package let startTimer: @Sendable (_ at: Duration, @escaping Call) -> Task<Void, Never>

    /// The function that a timer calls.
    package typealias Call = @Sendable () -> Void

    /// Wraps a clock.
    public init<C: Clock>(_ clock: C) where C.Duration == Duration {
        let origin = clock.now
        let sleep: @Sendable (Duration) async throws -> Void = {
            try await clock.sleep(until: origin.advanced(by: $0), tolerance: nil)
        }
        self.init(now: { origin.duration(to: clock.now) }, sleep: sleep) { moment, call in
            Task { if (try? await sleep(moment)) != nil { call() } }
        }
    }

    /// Creates a clock from its functions.
    package init(
        now: @escaping @Sendable () -> Duration,
        sleep: @escaping @Sendable (_ until: Duration) async throws -> Void,
        startTimer: @escaping @Sendable (_ at: Duration, @escaping Call) -> Task<Void, Never>
    ) {
        self.now = now
        self.sleep = sleep
        self.startTimer = startTimer
    }

    /// The default clock.
    ///
    /// It advances while the machine sleeps, so the client detects a dead connection after waking.
    package static var continuous: ClientClock { ClientClock(ContinuousClock()) }
}
