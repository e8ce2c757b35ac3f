import Glibc
import Primitives

/// A point in time of a clock that never goes back and is unaffected by changes of the calendar time.
///
/// It counts from an arbitrary start (`CLOCK_MONOTONIC`, clock_gettime(2)), so only differences are meaningful, and
/// only until the machine is restarted.
public struct MonotonicTime: InstantProtocol, Sendable {
    /// Nanoseconds since the clock's start.
    public var nanoseconds: Int64

    /// Makes a point in time from nanoseconds since the clock's start, zero or more.
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// Reads the clock.
    public static var current: MonotonicTime {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// Returns the point `duration` later, clamped to the clock's end.
    public func advanced(by duration: Duration) -> MonotonicTime {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.wholeNanoseconds)
        return MonotonicTime(nanoseconds: overflow ? .max : sum)
    }

    /// Returns the duration from this point to `other`.
    public func duration(to other: MonotonicTime) -> Duration {
        .nanoseconds(other.nanoseconds - nanoseconds)
    }

    /// Compares by time.
    public static func < (left: MonotonicTime, right: MonotonicTime) -> Bool {
        left.nanoseconds < right.nanoseconds
    }
}

/// Returns the milliseconds since 1970 (`CLOCK_REALTIME`), which may jump.
func currentUnixMilliseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
}

/// The clocks that a reactor reads once a turn: the kernel's, or those of a simulation.
public struct LoopClock {
    /// Reads the monotonic time.
    let now: () -> MonotonicTime
    /// Reads the milliseconds since 1970.
    let unixMilliseconds: () -> Int64
    /// How late a poll may be before it counts as a pause, which timers exclude; nil if none ever does.
    let pauseTolerance: Duration?

    /// The kernel's clocks.
    ///
    /// A loop whose next poll is more than 200 ms late counts as paused.
    public static var system: LoopClock {
        LoopClock(
            now: { .current },
            unixMilliseconds: currentUnixMilliseconds,
            pauseTolerance: .milliseconds(200)
        )
    }

    /// A clock that is set from outside, for example by a simulation.
    ///
    /// The kernel does not know this clock, so pass a limit when you poll a reactor that uses it.
    ///
    /// - Parameters:
    ///   - now: Reads the monotonic time, which never goes back.
    ///   - unixTime: Reads the seconds since 1970, which may jump.
    ///   - pauseTolerance: How late a poll may be before it counts as a pause of the process, which timers exclude; nil
    ///     for a clock that moves in steps.
    public init(
        now: @escaping () -> MonotonicTime,
        unixTime: @escaping () -> Int64,
        pauseTolerance: Duration? = nil
    ) {
        self.init(
            now: now,
            unixMilliseconds: { unixTime() * 1_000 },
            pauseTolerance: pauseTolerance
        )
    }

    private init(
        now: @escaping () -> MonotonicTime,
        unixMilliseconds: @escaping () -> Int64,
        pauseTolerance: Duration?
    ) {
        self.now = now
        self.unixMilliseconds = unixMilliseconds
        self.pauseTolerance = pauseTolerance
    }
}
