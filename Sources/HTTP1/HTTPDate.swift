/// The date format of HTTP: `Sun, 06 Nov 1994 08:49:37 GMT` (IMF-fixdate, RFC 9110 §5.6.7).
public enum HTTPDate {
    /// The length of a date, in bytes.
    static var length: Int { 29 }

    /// Encodes a point in time.
    ///
    /// - Parameter unixTime: Seconds since 1970, from 0 up to the end of the year 9999; other values are
    ///   clamped to that range.
    /// - Returns: 29 ASCII bytes.
    public static func encode(unixTime: Int64) -> [UInt8] {
        let time = Int(min(max(unixTime, 0), 253_402_300_799))
        let (days, second) = time.quotientAndRemainder(dividingBy: 86400)
        let (year, month, day) = civilDate(daysSince1970: days)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(length)
        // 1 January 1970 was a Thursday.
        append(weekdays, days % 7, to: &bytes)
        bytes += [UInt8(ascii: ","), Octet.space]
        append(day, to: &bytes)
        bytes.append(Octet.space)
        append(months, month - 1, to: &bytes)
        bytes.append(Octet.space)
        append(year / 100, to: &bytes)
        append(year % 100, to: &bytes)
        bytes.append(Octet.space)
        append(second / 3600, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        append(second / 60 % 60, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        append(second % 60, to: &bytes)
        bytes.append(contentsOf: " GMT".utf8)
        return bytes
    }

    private static let weekdays: StaticString = "ThuFriSatSunMonTueWed"
    private static let months: StaticString = "JanFebMarAprMayJunJulAugSepOctNovDec"

    private static func append(_ names: StaticString, _ index: Int, to bytes: inout [UInt8]) {
        names.withUTF8Buffer { bytes.append(contentsOf: $0[index * 3..<index * 3 + 3]) }
    }

    private static func append(_ twoDigits: Int, to bytes: inout [UInt8]) {
        bytes.append(0x30 + UInt8(truncatingIfNeeded: twoDigits / 10))
        bytes.append(0x30 + UInt8(truncatingIfNeeded: twoDigits % 10))
    }

    /// Converts a day number to a date of the Gregorian calendar.
    ///
    /// The computation begins the year in March, so that the leap day is at its end; 400 years have 146,097 days.
    private static func civilDate(daysSince1970 days: Int) -> (year: Int, month: Int, day: Int) {
        let (era, day) = (days + 719_468).quotientAndRemainder(dividingBy: 146_097)
        let year = (day - day / 1460 + day / 36524 - day / 146_096) / 365
        let dayOfYear = day - (365 * year + year / 4 - year / 100)
        let month = (5 * dayOfYear + 2) / 153
        return (
            year: era * 400 + year + (month < 10 ? 0 : 1),
            month: month < 10 ? month + 3 : month - 9,
            day: dayOfYear - (153 * month + 2) / 5 + 1
        )
    }
}
