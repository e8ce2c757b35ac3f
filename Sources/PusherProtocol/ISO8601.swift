/// Formats times as ISO 8601, without a calendar library.
enum ISO8601 {
    private static let secondsPerDay: Int64 = 86_400
    /// The years 0 to 9999, which have four digits.
    private static let representable: ClosedRange<Int64> = -62_167_219_200...253_402_300_799

    /// Returns `2012-11-16T18:36:19Z` for a number of seconds since 1970, or the number itself outside the years 0 to
    /// 9999.
    static func text(unixTime: Int64) -> String {
        guard representable.contains(unixTime) else { return String(unixTime) }
        let second = (unixTime % secondsPerDay + secondsPerDay) % secondsPerDay
        let (year, month, day) = date(ofDay: (unixTime - second) / secondsPerDay)
        let time = [second / 3600, second / 60 % 60, second % 60].map { padded($0, to: 2) }
        return "\(padded(year, to: 4))-\(padded(month, to: 2))-\(padded(day, to: 2))"
            + "T\(time.joined(separator: ":"))Z"
    }

    /// The proleptic Gregorian date of a day counted from 1 January 1970.
    ///
    /// Years are counted from March, so that the leap day is the last of its year; 400 years have 146,097 days.
    private static func date(ofDay day: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = day + 719_468  // From 1 March of the year 0.
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let leapDays = dayOfEra / 1_460 - dayOfEra / 36_524 + dayOfEra / 146_096
        let yearOfEra = (dayOfEra - leapDays) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }

    private static func padded(_ number: Int64, to width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
