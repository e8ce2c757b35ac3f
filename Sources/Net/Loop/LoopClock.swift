/// Where a reactor reads the time, once a turn: the kernel's clocks, or those of a simulation.
public struct LoopClock {
    /// Reads the time that timers count by.
    let now: () -> MonotonicTime
    /// Reads the seconds since 1970.
    let unixTime: () -> Int64
    /// How late a poll may come before timers leave out the time in between; nil if they never do.
    let pauseTolerance: Duration?

    /// The kernel's clocks.
    ///
    /// A loop that comes to its next poll more than 200 ms late has been paused.
    public static var system: LoopClock {
        LoopClock(
            now: { .current },
            unixTime: currentUnixTime,
            pauseTolerance: .milliseconds(200)
        )
    }

    /// A clock that somebody else moves.
    ///
    /// The kernel does not know it: a reactor with such a clock is polled with a limit.
    ///
    /// - Parameters:
    ///   - now: Reads the time that timers count by; it never goes back.
    ///   - unixTime: Reads the seconds since 1970, which may jump.
    ///   - pauseTolerance: How late a poll may come before timers leave out the time in between, for then the process
    ///     did not run; nil for a clock that is moved in steps.
    public init(
        now: @escaping () -> MonotonicTime,
        unixTime: @escaping () -> Int64,
        pauseTolerance: Duration? = nil
    ) {
        self.now = now
        self.unixTime = unixTime
        self.pauseTolerance = pauseTolerance
    }
}
