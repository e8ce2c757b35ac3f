/// The calendar as a home of sessions has seen it, which may be set while the broker runs.
///
/// A token has the time of a device. That time may agree with the calendar before or after it was set; the broker
/// cannot know which. A former calendar counts for a day.
struct SessionCalendar: Sendable {
    /// How far the calendar may move before it counts as set, in milliseconds.
    private static let tolerance: Int64 = 1_000
    /// How long a former calendar counts, in milliseconds.
    private static let formerAge: Int64 = 86_400_000
    /// The maximum number of former calendars.
    private static let formerMax = 8

    /// The milliseconds to add to the steady clock for the calendar's time, as first read.
    private(set) var first: Int64?
    private var present: Int64 = 0
    private var former: [(offset: Int64, until: Int64)] = []

    /// Reads the calendar.
    mutating func update(_ moment: SessionHome.Moment) {
        let offset = moment.calendarOffset
        guard first != nil else {
            (first, present) = (offset, offset)
            return
        }
        if let oldest = former.first, moment.now - oldest.until > Self.formerAge {
            former.removeFirst()
        }
        guard (offset - present).magnitude > Self.tolerance else { return }
        former.removeAll { ($0.offset - offset).magnitude <= Self.tolerance }
        former.append((present, moment.now))
        if former.count > Self.formerMax { former.removeFirst() }
        present = offset
    }

    /// The offsets of the calendars that count.
    var offsets: [Int64] { [present] + former.map(\.offset) }

    /// The difference between the calendars that count, in milliseconds.
    var spread: Int64 {
        former.isEmpty ? 0 : (offsets.max() ?? 0) - (offsets.min() ?? 0)
    }
}
