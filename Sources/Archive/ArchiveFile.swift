package import Broker
internal import CSQLite
internal import Glibc
internal import Primitives
internal import PusherProtocol
internal import SQLite

/// The SQLite file of an archive: streams, messages and idempotency keys of stored channels.
///
/// It has a write-ahead log, so a written transaction survives `kill -9`. ``Settings/syncsAlways`` and each transaction
/// decide what survives a loss of power.
package final class ArchiveFile {
    /// The settings of a file.
    package struct Settings: Sendable {
        /// The file.
        package var path: String
        /// Whether each transaction is synced to the disk; if not, only durable ones are.
        package var syncsAlways = false
        /// The maximum size of the used pages, in bytes; above it the oldest messages are deleted.
        ///
        /// Sessions do not count, because they have their own budget.
        package var byteCountMax = 1 << 30
        /// The ID of this machine's start; after another start, the end of the file may be missing.
        package var bootID: String
        /// The maximum number of the file's pages, to test a full disk; `nil` for SQLite's own.
        package var pageCountMax: Int?
        /// Reads the clocks.
        package var clocks: @Sendable () -> ClockReading = { .now }

        /// The maximum size of the sessions, in bytes, in addition to the messages.
        var sessionBytesMax: Int { byteCountMax / 4 }

        /// Creates settings.
        package init(path: String, bootID: String = BootID.current) {
            self.path = path
            self.bootID = bootID
        }
    }

    let connection: SQLiteConnection
    let settings: Settings
    let statements: ArchiveStatements
    private let mark: ArchiveMark
    /// The files that SQLite has opened: the database and its log.
    private var places: [FileIdentity?] = []
    private var clock: ArchiveClock
    private var token: Int64 = 0
    /// Counts the times that the file may have lost its end.
    package private(set) var life: Int64 = 1
    /// Whether released messages may be missing.
    ///
    /// They may be if the machine was restarted and the last run did not close the file. They may also be if the file
    /// ends before its mark, or the mark belongs to another file.
    package private(set) var mayLackEnd = false
    /// Whether the last run has written all of its sessions.
    private(set) var hasAllSessions = false
    private var isSynced: Bool
    /// The damage found since the last call of ``takeDamage()``.
    private var damage = Damage()
    /// Whether a transaction has exceeded ``Settings/byteCountMax`` since ``takeBudgetHit()``.
    var hasMetBudget = false
    /// The approximate size of the sessions, in bytes.
    private(set) var sessionByteCount = 0

    /// Opens or creates the file, readable only by its owner, because events may be confidential.
    ///
    /// - Parameter settings: The settings.
    /// - Throws: A ``SQLiteError``; ``SQLiteError/isMalformed`` for a file that is not an archive, or a damaged one.
    package init(_ settings: Settings) throws {
        self.settings = settings
        makePrivateFile(at: settings.path)
        mark = try ArchiveMark(path: settings.path + "-mark")
        let boot = ArchiveMark.boot(settings.bootID)
        clock = ArchiveClock(
            settings.clocks,
            after: mark.former.map { ($0.time, $0.reading, $0.boot == boot && boot != 0) }
        )
        connection = try SQLiteConnection(path: settings.path, busyTimeout: 1_000)
        isSynced = true
        do {
            // Before the first table: freed pages are reused, and the last ones are removed when the file is closed.
            try connection.execute("PRAGMA journal_mode = WAL")
            try connection.execute("PRAGMA synchronous = FULL")
            if let pageCountMax = settings.pageCountMax {
                try connection.execute("PRAGMA max_page_count = \(pageCountMax)")
            }
            try Self.check(connection)
            try Self.prepareTables(connection, mark)
            try Self.fillSeeds(connection)
            statements = try ArchiveStatements(connection)
            sessionByteCount = try SessionRows(connection: connection).byteCount()
            try begin()
        } catch {
            connection.close()
            throw Self.classified(error, settings.path)
        }
        places = placesNow
    }

    deinit { connection.close() }

    /// The error of opening; one that only a damaged file causes counts as malformed, so that not every start fails.
    private static func classified(_ error: any Error, _ path: String) -> any Error {
        guard let error = error as? SQLiteError else { return error }
        let isUnwritable = error.code == SQLITE_READONLY && access(path, W_OK) == 0
        guard error.isDamage || isUnwritable else { return error }
        return SQLiteError(code: SQLITE_CORRUPT, message: error.message, sql: error.sql)
    }

    private static func prepareTables(_ connection: SQLiteConnection, _ mark: ArchiveMark) throws {
        do {
            try ArchiveSchema.prepare(connection)
        } catch ArchiveError.unknownVersion(let found)
            where mark.former?.version == ArchiveSchema.version
        {
            // No later Fanfare has written to it: the number is damaged.
            throw SQLiteError(code: SQLITE_CORRUPT, message: "version \(found)", sql: nil)
        }
    }

    /// Checks the structure of all pages, because SQLite has no checksums and a lost page would be an unnoticed gap.
    private static func check(_ connection: SQLiteConnection) throws {
        var verdict = ""
        try connection.forEachRow("PRAGMA quick_check(1)") { row throws(SQLiteError) in
            verdict = row.text(at: 0) ?? ""
        }
        guard verdict == "ok" else {
            throw SQLiteError(code: SQLITE_CORRUPT, message: verdict, sql: "PRAGMA quick_check")
        }
    }

    /// Begins a run: if released messages may be missing, another life with other IDs for its streams.
    private func begin() throws {
        var former = FormerRun()
        try connection.forEachRow(
            """
            SELECT life, boot_id, is_closed, is_synced, has_all_sessions, token, crc, sessions_crc, last
            FROM life
            """
        ) { row throws(SQLiteError) in
            former.life = row.integer("life")
            former.lastsPower =
                row.integer("is_closed") != 0 || row.integer("is_synced") != 0
                || row.text("boot_id") == settings.bootID
            former.token = row.integer("token")
            former.isIntact =
                row.integer("crc") == RowChecksum.numbers(former.life, former.token)
                || former.token == 0 && former.life == 1 && row.integer("crc") == RowChecksum.none
            former.sessionsSum =
                row.integer("has_all_sessions") != 0 ? row.integer("sessions_crc") : nil
            former.last = row.integer("last")
        }
        guard UInt64(safe: former.last) != nil else {
            throw SQLiteError(code: SQLITE_CORRUPT, message: "no last transaction", sql: nil)
        }
        mayLackEnd = !former.isIntact || !former.lastsPower || !former.reaches(mark.former)
        if !former.isIntact {
            let used = try connection.integer("SELECT MAX(life) FROM streams") ?? 0
            former.life = min(max(former.life, used, 0), SafeInteger.max)
        }
        hasAllSessions =
            try !mayLackEnd
            && former.sessionsSum == SessionRows(connection: connection).checksum()
        life = former.life + (mayLackEnd ? 1 : 0)
        // A copy of the file may have had this life.
        if mayLackEnd { try renewSeeds() }
        repeat { token = Int64.random(in: 1...Int64.max) } while token == former.token
        try connection.execute(
            """
            UPDATE life
            SET life = ?, boot_id = ?, is_closed = 0, is_synced = ?, has_all_sessions = 0, token = ?, crc = ?
            """,
            [
                .integer(life), .text(settings.bootID), .integer(settings.syncsAlways ? 1 : 0),
                .integer(token), .integer(RowChecksum.numbers(life, token)),
            ]
        )
        writeMark(last: former.last)
        // After a loss of power, the mark of the former run must not remain.
        mark.sync()
        try setSynced(settings.syncsAlways)
    }

    /// The data that the last run has left in the file.
    private struct FormerRun {
        var life: Int64 = 1
        var token: Int64 = 0
        /// -1 without a row.
        var last: Int64 = -1
        /// Whether the row is intact.
        var isIntact = false
        /// Whether a loss of power cannot have removed the end.
        var lastsPower = false
        /// The checksum of the sessions; `nil` if not all were written.
        var sessionsSum: Int64?

        /// Whether the file has everything that its mark records.
        func reaches(_ mark: ArchiveMark.Content?) -> Bool {
            // A file of an earlier version has no mark.
            guard let mark else { return token == 0 }
            return mark.token == token && last >= mark.last
        }
    }

    private func writeMark(last: Int64) {
        let (time, reading) = clock.now
        mark.write(
            ArchiveMark.Content(
                version: ArchiveSchema.version,
                token: token,
                last: last,
                time: time,
                reading: reading,
                boot: ArchiveMark.boot(settings.bootID)
            )
        )
    }

    // MARK: - Clock and place

    /// The time by the file's clock, in milliseconds: ages are counted by it.
    package var time: Int64 { clock.now.time }

    /// The milliseconds to add to a time of the calendar for the file's time.
    var skew: Int64 { clock.skew }

    /// Removes and returns the calendar's expected time had it not been set, and its actual time, in milliseconds since
    /// 1970.
    ///
    /// `nil` if it was not set since the last call.
    package func takeClockStep() -> (expected: Int64, actual: Int64)? { clock.takeStep() }

    /// Reads the clocks, and records in the mark that the calendar was set.
    package func updateClock() {
        guard clock.update(), let last = try? lastTransaction() else { return }
        writeMark(last: Int64(last))
    }

    private var placesNow: [FileIdentity?] {
        [FileIdentity(path: settings.path), FileIdentity(path: settings.path + "-wal")]
    }

    /// Whether the open database and its log are still at their paths.
    package var isInPlace: Bool { placesNow == places }

    // MARK: - Damage

    /// Rows that were refused.
    package struct Damage: Sendable {
        /// Their number.
        package var rowCount = 0
        /// The channels concerned, or the numbers of their streams; at most 20.
        package var streams: [String] = []

        mutating func add(_ count: Int = 1, of stream: String) {
            rowCount += count
            if streams.count < 20, !streams.contains(stream) { streams.append(stream) }
        }
    }

    /// Removes and returns the damage found since the last call.
    package func takeDamage() -> Damage {
        defer { damage = Damage() }
        return damage
    }

    func addDamage(of stream: String) { damage.add(of: stream) }

    private func setSynced(_ isSynced: Bool) throws {
        guard isSynced != self.isSynced else { return }
        try (isSynced ? statements.sync : statements.unsync).run()
        self.isSynced = isSynced
    }

    /// Closes the file after its last transaction, so that the next run trusts its end.
    ///
    /// - Parameter sessions: The sessions at the end; `nil` if they are not known.
    /// - Throws: A ``SQLiteError``.
    package func close(keeping sessions: StoredSessions? = nil) throws {
        try setSynced(true)
        let written = Result {
            guard let sessions else { return }
            try connection.transaction {
                try SessionRows(connection: connection, skew: skew)
                    .writeAll(sessions, atMost: settings.sessionBytesMax)
            }
        }
        // The messages are complete, even if writing the sessions has failed.
        try connection.execute("UPDATE life SET is_closed = 1")
        try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        writeMark(last: Int64(try lastTransaction()))
        mark.sync()
        try written.get()
    }
}

extension ArchiveFile: ArchiveStorage {
    package func lastTransaction() throws -> UInt64 {
        var last: UInt64?
        try statements.last.forEachRow { row throws(SQLiteError) in
            last = UInt64(safe: row.integer(at: 0) ?? -1)
        }
        guard let last else {
            throw SQLiteError(code: SQLITE_CORRUPT, message: "no last transaction", sql: nil)
        }
        return last
    }

    package func perform(_ changes: [ArchiveChange], number: UInt64, isDurable: Bool) throws {
        guard isInPlace else { throw ArchiveError.misplaced(settings.path) }
        clock.update()
        try setSynced(isDurable || settings.syncsAlways)
        try connection.transaction {
            var growth: [Int64: Growth] = [:]
            for change in changes {
                switch change {
                case .open(let stream): try open(stream)
                case .forget(let row): try forget(row)
                case .message(let row, var message, var key):
                    message.time &+= skew
                    key?.expiry &+= skew
                    try insert(message, key, row)
                    growth[row, default: Growth(message)].add(message)
                }
            }
            for (row, growth) in growth { try record(growth, row) }
            try statements.setLast.run([.integer(Int64(number))])
        }
        // Before the confirmation: released messages are in the mark.
        writeMark(last: Int64(number))
        // The changes are written, even if deleting older ones fails.
        try? keepBudget()
    }

    package func write(_ sessions: [SessionChange]) throws {
        try setSynced(settings.syncsAlways)
        var byteCount = sessionByteCount
        let isFull = try connection.transaction {
            try SessionRows(connection: connection, skew: skew)
                .write(sessions, &byteCount, atMost: settings.sessionBytesMax)
        }
        sessionByteCount = byteCount
        if isFull { hasMetBudget = true }
    }

    /// The amount that a transaction adds to a stream.
    private struct Growth {
        let firstTime: Int64
        let firstSerial: UInt64
        var last: UInt64 = 0
        var byteCount = 0

        init(_ first: StoredMessage) { (firstTime, firstSerial) = (first.time, first.serial) }

        mutating func add(_ message: StoredMessage) {
            last = message.serial
            byteCount += message.envelope.byteCount
        }
    }

    private func insert(_ message: StoredMessage, _ key: StoredKey?, _ row: Int64) throws {
        try statements.insertMessage.run([
            .integer(row), .integer(Int64(message.serial)), .integer(message.time),
            message.except.map { .text($0.description) } ?? .null, .blob(message.envelope.text),
            .integer(RowChecksum.message(row: row, message)),
        ])
        guard let key else { return }
        let (serial, digest) = (Int64(message.serial), Int64(bitPattern: key.digest))
        let text = key.key.text
        try statements.insertKey.run([
            .integer(row), .text(text), .integer(serial), .integer(digest), .integer(key.expiry),
            .integer(
                RowChecksum.key(
                    row: row,
                    serial: serial,
                    digest: digest,
                    expiry: key.expiry,
                    text
                )
            ),
        ])
    }

    private func record(_ growth: Growth, _ row: Int64) throws {
        try statements.grow.run([
            .integer(Int64(growth.last)),
            .integer(RowChecksum.end(row: row, last: Int64(growth.last))),
            .integer(Int64(growth.byteCount)),
            .integer(Int64(growth.firstSerial)), .integer(growth.firstTime),
            .integer(growth.firstTime), .integer(row),
        ])
    }

    private func open(_ stream: StoredStream) throws {
        let limits = stream.limits
        let (app, channel) = (stream.address.app.text, stream.address.name.text)
        // A channel has one stream; only rows that remain to be deleted are left of an earlier one.
        try statements.replace.run([.text(app), .text(channel), .integer(stream.row)])
        if connection.changeCount > 0 {
            try changeSeed(of: stream.address, exceptFor: stream.row)
            try statements.forgetChannel.run([.text(app), .text(channel), .integer(stream.row)])
        }
        try statements.open.run([
            .integer(stream.row), .text(app), .text(channel), .text(stream.id.text), .integer(life),
            .integer(Int64(stream.lastSerial + 1)),
            .integer(Int64(stream.lastSerial)), .integer(Int64(limits.messagesMax)),
            .integer(Int64(limits.bytesMax)), .integer(Int64(limits.ageMax) * 1_000),
            .integer(
                RowChecksum.stream(
                    row: stream.row,
                    life: life,
                    app: app,
                    channel: channel,
                    stream.id.text
                )
            ), .integer(RowChecksum.end(row: stream.row, last: Int64(stream.lastSerial))),
        ])
        try statements.useRow.run([.integer(stream.row + 1)])
    }

    func forget(_ row: Int64) throws {
        try changeSeed(of: row)
        try statements.forget.run([.integer(row)])
        try statements.forgetRows.run([.integer(row)])
    }

    package func revert(_ changes: [ArchiveChange]) throws {
        try connection.transaction {
            for case .message(let row, let message, let key) in changes {
                let place: [SQLiteValue] = [.integer(row), .integer(Int64(message.serial))]
                try connection.execute(
                    "DELETE FROM messages WHERE stream = ? AND serial = ?",
                    place
                )
                let last = try connection.integer(
                    "SELECT last FROM streams WHERE id = ?",
                    [place[0]]
                )
                let end = min(last ?? 0, Int64(message.serial) - 1)
                try connection.execute(
                    "UPDATE streams SET last = ?3, end_crc = ?4, oldest = MIN(oldest, ?2) WHERE id = ?1",
                    place + [.integer(end), .integer(RowChecksum.end(row: row, last: end))]
                )
                guard let key else { continue }
                try connection.execute(
                    "DELETE FROM keys WHERE stream = ? AND key = ?",
                    [.integer(row), .text(key.key.text)]
                )
            }
        }
    }
}
