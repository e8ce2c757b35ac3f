/// The difference between the calendar and a loop's clock, kept constant so that a moment always has the same calendar
/// time.
///
/// The difference of two clocks read one after the other varies by a millisecond with each reading, and slightly more
/// while NTP slews the calendar. With such a difference, a search by a message's time would not find the message again.
public struct CalendarOffset: Sendable {
    /// How far the difference may change before the calendar counts as set, in milliseconds.
    static let tolerance: Int64 = 1_000

    private var milliseconds: Int64?

    /// Makes an offset that is taken from the first reading.
    public init() {}

    /// Returns the milliseconds to add to the loop's clock for the calendar's time.
    ///
    /// - Parameters:
    ///   - calendar: The present time in milliseconds since 1970.
    ///   - now: The same moment by the loop's clock, in milliseconds.
    /// - Returns: The difference as first read, or the present one if the calendar was set by more than a second since.
    public mutating func update(calendar: Int64, now: Int64) -> Int64 {
        let present = calendar - now
        if let milliseconds, (present - milliseconds).magnitude <= Self.tolerance {
            return milliseconds
        }
        milliseconds = present
        return present
    }
}
