import Glibc
import Primitives

/// A point in time that never goes back and that no change of the calendar moves.
///
/// It counts from an arbitrary start (`CLOCK_MONOTONIC`, clock_gettime(2)), so only differences mean
/// something, and only within one run of the machine.
public struct MonotonicTime: InstantProtocol, Sendable {
    /// Nanoseconds since the clock's start.
    public var nanoseconds: Int64

    /// A point so many nanoseconds after the clock's start.
    ///
    /// - Parameter nanoseconds: Zero or more.
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// Reads the clock.
    public static var current: MonotonicTime {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// The point that lies `duration` later; past the end of the clock it is the end.
    public func advanced(by duration: Duration) -> MonotonicTime {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.wholeNanoseconds)
        return MonotonicTime(nanoseconds: overflow ? .max : sum)
    }

    /// How much later `other` is.
    public func duration(to other: MonotonicTime) -> Duration {
        .nanoseconds(other.nanoseconds - nanoseconds)
    }

    /// Compares by time.
    public static func < (left: MonotonicTime, right: MonotonicTime) -> Bool {
        left.nanoseconds < right.nanoseconds
    }
}

/// Seconds since 1970 (`CLOCK_REALTIME`), which may jump.
func currentUnixTime() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec)
}
