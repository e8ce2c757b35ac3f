/// Where a reactor reads the time, once a turn: the kernel's clocks, or those of a simulation.
public struct LoopClock {
    /// Reads the time that timers count by.
    let now: () -> MonotonicTime
    /// Reads the seconds since 1970.
    let unixTime: () -> Int64

    /// The kernel's clocks.
    public static var system: LoopClock {
        LoopClock(now: { .current }, unixTime: currentUnixTime)
    }

    /// A clock that somebody else moves.
    ///
    /// The kernel does not know it: a reactor with such a clock is polled with a limit.
    ///
    /// - Parameters:
    ///   - now: Reads the time that timers count by; it never goes back.
    ///   - unixTime: Reads the seconds since 1970, which may jump.
    public init(now: @escaping () -> MonotonicTime, unixTime: @escaping () -> Int64) {
        self.now = now
        self.unixTime = unixTime
    }
}
