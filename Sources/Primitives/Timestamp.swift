/// A point in time as text in UTC, without a calendar library.
package struct Timestamp: Sendable {
    /// `2026-11-21T09:33:23.042Z` (RFC 3339).
    package let text: String

    /// Formats a time in nanoseconds since 1970.
    package init(_ time: Int64) {
        let milliseconds = max(0, time) / 1_000_000
        let seconds = milliseconds / 1_000
        let (year, month, day) = Self.date(ofDay: seconds / 86_400)
        func padded(_ number: Int64, _ width: Int) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        let date = "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
        let clock =
            "\(padded(seconds % 86_400 / 3_600, 2)):\(padded(seconds % 3_600 / 60, 2))"
            + ":\(padded(seconds % 60, 2)).\(padded(milliseconds % 1_000, 3))"
        text = "\(date)T\(clock)Z"
    }

    /// The Gregorian date of a day since 1970, by 400-year eras that begin on 1 March.
    private static func date(ofDay day: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = day + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }
}
