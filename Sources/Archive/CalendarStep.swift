internal import Glibc
internal import Primitives
internal import SQLite

/// A step of the calendar since a file of a broker was written, found without opening the file as a broker does.
///
/// Within one start of the machine each step is found. Across a start, only a step is found that sets the calendar to
/// before the file was written.
package struct CalendarStep: Sendable, Equatable {
    /// The earliest time that the calendar should have, in milliseconds since 1970.
    package let expected: Int64
    /// The time that it has.
    package let actual: Int64

    /// Finds the step since the last transaction of an archive.
    ///
    /// `nil` without a step of more than a second, or without a readable mark.
    package init?(
        ofArchiveAt path: String,
        bootID: String = BootID.current,
        now: ClockReading = .now
    ) {
        guard let mark = ArchiveMark.content(at: path + "-mark") else { return nil }
        let boot = ArchiveMark.boot(bootID)
        self.init(since: mark.reading, isSameBoot: mark.boot == boot && boot != 0, now)
    }

    /// Finds the step since a spool was written.
    ///
    /// `nil` without a step of more than a second, or without a readable spool.
    package init?(
        ofSpoolAt path: String,
        bootID: String = BootID.current,
        now: ClockReading = .now
    ) {
        // Otherwise SQLite would create it.
        guard access(path, R_OK | W_OK) == 0,
            let connection = try? SQLiteConnection(path: path, busyTimeout: 0)
        else { return nil }
        defer { connection.close() }
        var found: (reading: ClockReading, boot: String)?
        try? connection.forEachRow("SELECT last, uptime_ms, boot_id, crc FROM life") {
            row throws(SQLiteError) in
            let reading = ClockReading(
                calendar: row.integer("last"),
                uptime: row.integer("uptime_ms")
            )
            guard row.integer("crc") == RowChecksum.numbers(reading.calendar, reading.uptime) else {
                return
            }
            found = (reading, row.text("boot_id"))
        }
        guard let found else { return nil }
        let isSameBoot = !found.boot.isEmpty && found.boot == bootID
        self.init(since: found.reading, isSameBoot: isSameBoot, now)
    }

    private init?(since then: ClockReading, isSameBoot: Bool, _ now: ClockReading) {
        expected = then.calendar &+ now.elapsed(since: then, isSameBoot: isSameBoot)
        actual = now.calendar
        guard (actual &- expected).magnitude > ArchiveClock.tolerance else { return nil }
    }
}
