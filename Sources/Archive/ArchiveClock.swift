internal import Glibc

/// The readings of both clocks at one moment, in milliseconds.
package struct ClockReading: Sendable, Equatable {
    /// The time since 1970, which may be set.
    package var calendar: Int64
    /// The time since the machine was started, including suspended time (`CLOCK_BOOTTIME`).
    package var uptime: Int64

    /// Creates a reading.
    package init(calendar: Int64, uptime: Int64) {
        (self.calendar, self.uptime) = (calendar, uptime)
    }

    /// The present readings.
    package static var now: ClockReading {
        ClockReading(calendar: Clock.unixMilliseconds, uptime: Clock.uptimeMilliseconds)
    }

    /// The time that has passed since another reading, in milliseconds.
    ///
    /// Within one start of the machine it follows from the uptime, whatever the calendar. Across a start it follows
    /// from the calendar; if that was set back, the result is 0.
    func elapsed(since former: ClockReading, isSameBoot: Bool) -> Int64 {
        let (now, then) = isSameBoot ? (uptime, former.uptime) : (calendar, former.calendar)
        let (elapsed, overflows) = now.subtractingReportingOverflow(then)
        return overflows ? 0 : max(0, elapsed)
    }
}

/// The clock by which a file counts ages: the time since 1970 when the file was created, plus the time passed since
/// then.
///
/// Setting the calendar does not move it. All times in the file are this clock's.
struct ArchiveClock {
    /// How far the calendar may deviate before it counts as set, in milliseconds.
    static let tolerance: Int64 = 1_000

    private let base: Int64
    private let start: ClockReading
    private let read: @Sendable () -> ClockReading
    /// The milliseconds to add to a time of the calendar for this clock's; 0 while the calendar has not been set.
    private(set) var skew: Int64 = 0
    /// The calendar's expected time had it not been set, and its actual time; `nil` once taken.
    private var step: (expected: Int64, actual: Int64)?

    /// Continues the clock of a file; begins with the calendar for a new one.
    init(
        _ read: @escaping @Sendable () -> ClockReading,
        after former: (time: Int64, reading: ClockReading, isSameBoot: Bool)?
    ) {
        self.read = read
        start = read()
        guard let former else {
            base = start.calendar
            return
        }
        let elapsed = start.elapsed(since: former.reading, isSameBoot: former.isSameBoot)
        let time = former.time &+ elapsed
        base = (time &- start.calendar).magnitude <= Self.tolerance ? start.calendar : time
        skew = base &- start.calendar
        let expected = former.reading.calendar &+ elapsed
        if (start.calendar &- expected).magnitude > Self.tolerance {
            step = (expected, start.calendar)
        }
    }

    /// The present time, and the readings of both clocks.
    var now: (time: Int64, reading: ClockReading) {
        let reading = read()
        return (base &+ (reading.uptime &- start.uptime), reading)
    }

    /// Reads the clocks again, and returns whether the calendar was set since the last reading.
    @discardableResult
    mutating func update() -> Bool {
        let (time, reading) = now
        let present = time &- reading.calendar
        guard (present &- skew).magnitude > Self.tolerance else { return false }
        step = (time &- skew, reading.calendar)
        skew = present
        return true
    }

    /// Removes and returns the last step of the calendar.
    mutating func takeStep() -> (expected: Int64, actual: Int64)? {
        defer { step = nil }
        return step
    }
}
