package import Broker
internal import CSQLite
internal import PusherProtocol
internal import SQLite

/// The SQLite file of an archive: streams, messages and idempotency keys of stored channels.
///
/// It has a write-ahead log: what a transaction has written survives `kill -9`. What survives a loss of power is decided
/// by ``Settings/syncsAlways``, and by each transaction.
package final class ArchiveFile {
    /// The settings of a file.
    package struct Settings: Sendable {
        /// The file.
        package var path: String
        /// Whether each transaction is synced to the disk; if not, only durable ones are.
        package var syncsAlways = false
        /// The maximum size of the used pages, in bytes; above it the oldest messages go.
        ///
        /// Sessions do not count: they have room of their own.
        package var byteCountMax = 1 << 30
        /// The start of this machine; another one means that the end of the file may be missing.
        package var bootID: String
        /// The maximum number of the file's pages, to test a full disk; `nil` for SQLite's own.
        package var pageCountMax: Int?

        /// The maximum size of the sessions, in bytes, which come on top of the messages.
        var sessionBytesMax: Int { byteCountMax / 4 }

        /// Creates settings.
        package init(path: String, bootID: String = BootID.current) {
            self.path = path
            self.bootID = bootID
        }
    }

    let connection: SQLiteConnection
    let settings: Settings
    let statements: Statements
    /// Counts the times that the file may have lost its end.
    package private(set) var life: Int64 = 1
    /// Whether the last run did not close the file, and the machine was started anew since.
    package private(set) var mayLackEnd = false
    /// Whether the last run has written all of its sessions.
    private var hasAllSessions = false
    private var isSynced: Bool
    /// Whether a transaction has exceeded ``Settings/byteCountMax`` since ``takeBudgetHit()``.
    var hasMetBudget = false
    /// The size of the sessions, in bytes, about.
    private(set) var sessionByteCount = 0

    /// Opens or creates the file, readable by its owner alone, because events may be confidential.
    ///
    /// - Parameter settings: The settings.
    /// - Throws: A ``SQLiteError``; ``SQLiteError/isMalformed`` for a file that is no archive.
    package init(_ settings: Settings) throws {
        self.settings = settings
        makePrivateFile(at: settings.path)
        connection = try SQLiteConnection(path: settings.path, busyTimeout: 1_000)
        isSynced = true
        do {
            // Ahead of the first table: freed pages are reused, and the last ones go when the file is closed.
            try connection.execute("PRAGMA journal_mode = WAL")
            try connection.execute("PRAGMA synchronous = FULL")
            if let pageCountMax = settings.pageCountMax {
                try connection.execute("PRAGMA max_page_count = \(pageCountMax)")
            }
            try ArchiveSchema.prepare(connection)
            try Self.check(connection)
            try Self.fillSeeds(connection)
            statements = try Statements(connection)
            sessionByteCount = try SessionRows(connection: connection).byteCount()
            try begin()
        } catch {
            connection.close()
            throw error
        }
    }

    deinit { connection.close() }

    /// Checks the pages of a file that was not closed: a loss of power may have torn some.
    private static func check(_ connection: SQLiteConnection) throws {
        guard try connection.integer("SELECT is_closed FROM life") == 0 else { return }
        var verdict = ""
        try connection.forEachRow("PRAGMA quick_check(1)") { row throws(SQLiteError) in
            verdict = row.text(at: 0) ?? ""
        }
        guard verdict == "ok" else {
            throw SQLiteError(code: SQLITE_CORRUPT, message: verdict, sql: "PRAGMA quick_check")
        }
    }

    /// Begins a run: another life if the end may be missing, with other IDs for its streams.
    private func begin() throws {
        var former: (life: Int64, bootID: String, isClosed: Bool, isSynced: Bool) = (
            1, "", true, true
        )
        try connection.forEachRow("SELECT * FROM life") { row throws(SQLiteError) in
            former = (
                row.integer("life"), row.text("boot_id"), row.integer("is_closed") != 0,
                row.integer("is_synced") != 0
            )
            hasAllSessions = row.integer("has_all_sessions") != 0
        }
        mayLackEnd = !former.isClosed && !former.isSynced && former.bootID != settings.bootID
        life = former.life + (mayLackEnd ? 1 : 0)
        try connection.execute(
            """
            UPDATE life
            SET life = ?, boot_id = ?, is_closed = 0, is_synced = ?, has_all_sessions = 0
            """,
            [.integer(life), .text(settings.bootID), .integer(settings.syncsAlways ? 1 : 0)]
        )
        try setSynced(settings.syncsAlways)
    }

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
                try SessionRows(connection: connection)
                    .writeAll(sessions, atMost: settings.sessionBytesMax)
            }
        }
        // The messages are complete, whatever became of the sessions.
        try connection.execute("UPDATE life SET is_closed = 1")
        try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        try written.get()
    }

    // MARK: - The contents

    /// The streams of the file, and what is known under their keys.
    package struct Contents: Sendable {
        /// The streams; those of an earlier life need another ID.
        package var streams: [(stream: StoredStream, isCurrent: Bool)] = []
        /// The keys, by stream, in the order of their expiry.
        package var keys: [(row: Int64, serial: UInt64, key: StoredKey)] = []
        /// The first number that no stream has had.
        package var nextRow: Int64 = 1
        /// What the IDs of streams follow from that are not in the file.
        package var seeds = StreamSeeds(from: .random(in: 0 ... .max))
        /// The sessions of stock clients with a token.
        package var sessions = StoredSessions()

        /// Creates the contents of an empty file.
        package init() {}
    }

    /// Reads the streams, keys and sessions.
    ///
    /// - Parameter now: The time, in milliseconds since 1970; expired keys are left out.
    /// - Returns: The contents.
    /// - Throws: A ``SQLiteError``.
    package func contents(at now: Int64) throws -> Contents {
        var contents = Contents()
        try connection.forEachRow(
            """
            SELECT *, MAX(last, (SELECT COALESCE(MAX(serial), 0) FROM messages WHERE stream = id)) AS end
            FROM streams
            """
        ) { row throws(SQLiteError) in
            guard let id = StreamID(row.text("stream")),
                let name = try? ChannelName(row.text("channel"), limits: Self.names)
            else { return }
            var rule = RecoveryRule()
            rule.messagesMax = Int(row.integer("messages_max"))
            rule.bytesMax = Int(row.integer("bytes_max"))
            rule.ageMax = Int(row.integer("age_ms") / 1_000)
            let stream = StoredStream(
                row: row.integer("id"),
                ChannelAddress(app: AppID(row.text("app")), name: name),
                id,
                lastSerial: UInt64(row.integer("end")),
                StoredStream.Limits(rule)
            )
            contents.streams.append((stream, row.integer("life") == life))
        }
        try connection.forEachRow(
            "SELECT * FROM keys WHERE expiry_ms > ? ORDER BY expiry_ms",
            [.integer(now)]
        ) { row throws(SQLiteError) in
            guard let key = IdempotencyKey(row.text("key")) else { return }
            let stored = StoredKey(
                key,
                digest: UInt64(bitPattern: row.integer("digest")),
                expiry: row.integer("expiry_ms")
            )
            contents.keys.append((row.integer("stream"), UInt64(row.integer("serial")), stored))
        }
        contents.nextRow = try connection.integer("SELECT next_stream FROM life") ?? 1
        contents.seeds = try seeds()
        contents.sessions = try SessionRows(connection: connection).read(isComplete: hasAllSessions)
        return contents
    }

    /// The names in the file were valid when they were written.
    static var names: ProtocolLimits {
        var limits = ProtocolLimits()
        limits.channelNameLengthMax = .max
        return limits
    }
}

extension ArchiveFile: ArchiveStorage {
    package func lastTransaction() throws -> UInt64 {
        var last: UInt64 = 0
        try statements.last.forEachRow { row throws(SQLiteError) in
            last = UInt64(row.integer(at: 0) ?? 0)
        }
        return last
    }

    package func perform(_ changes: [ArchiveChange], number: UInt64, isDurable: Bool) throws {
        try setSynced(isDurable || settings.syncsAlways)
        try connection.transaction {
            var growth: [Int64: Growth] = [:]
            for change in changes {
                switch change {
                case .open(let stream): try open(stream)
                case .forget(let row): try forget(row)
                case .message(let row, let message, let key):
                    try insert(message, key, row)
                    growth[row, default: Growth(message)].add(message)
                }
            }
            for (row, growth) in growth { try record(growth, row) }
            try statements.setLast.run([.integer(Int64(number))])
        }
        // The changes are written, whatever becomes of older ones.
        try? keepBudget()
    }

    package func write(_ sessions: [SessionChange]) throws {
        try setSynced(settings.syncsAlways)
        var byteCount = sessionByteCount
        let isFull = try connection.transaction {
            try SessionRows(connection: connection)
                .write(sessions, &byteCount, atMost: settings.sessionBytesMax)
        }
        sessionByteCount = byteCount
        if isFull { hasMetBudget = true }
    }

    /// What a transaction adds to a stream.
    private struct Growth {
        let firstTime: Int64
        let firstSerial: UInt64
        var last: UInt64 = 0
        var byteCount = 0

        init(_ first: StoredMessage) { (firstTime, firstSerial) = (first.time, first.serial) }

        mutating func add(_ message: StoredMessage) {
            last = message.serial
            byteCount += message.frame.count
        }
    }

    private func insert(_ message: StoredMessage, _ key: StoredKey?, _ row: Int64) throws {
        try statements.insertMessage.run([
            .integer(row), .integer(Int64(message.serial)), .integer(message.time),
            message.except.map { .text($0.description) } ?? .null, .blob(message.frame),
        ])
        guard let key else { return }
        try statements.insertKey.run([
            .integer(row), .text(key.key.text), .integer(Int64(message.serial)),
            .integer(Int64(bitPattern: key.digest)), .integer(key.expiry),
        ])
    }

    private func record(_ growth: Growth, _ row: Int64) throws {
        try statements.grow.run([
            .integer(Int64(growth.last)), .integer(Int64(growth.byteCount)),
            .integer(Int64(growth.firstSerial)), .integer(growth.firstTime),
            .integer(growth.firstTime), .integer(row),
        ])
    }

    private func open(_ stream: StoredStream) throws {
        let limits = stream.limits
        let (app, channel) = (stream.address.app.text, stream.address.name.text)
        // A channel has one stream: of an earlier one, only its rows are left to be deleted.
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
        ])
        try statements.useRow.run([.integer(stream.row + 1)])
    }

    private func forget(_ row: Int64) throws {
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
                try connection.execute(
                    "UPDATE streams SET last = MIN(last, ?2 - 1), oldest = MIN(oldest, ?2) WHERE id = ?1",
                    place
                )
                guard let key else { continue }
                try connection.execute(
                    "DELETE FROM keys WHERE stream = ? AND key = ?",
                    [.integer(row), .text(key.key.text)]
                )
            }
        }
    }

    package func messages(_ query: ArchiveQuery) throws -> ArchivePage {
        let page = query.page
        var found = ArchivePage()
        // The serials ahead of `end`; none for 0.
        let first = min(page.after ?? 0, ChannelPosition.serialMax) + 1
        let end = min(page.before ?? .max, ChannelPosition.serialMax + 1)
        let statement = page.isNewestFirst ? statements.newest : statements.oldest
        var byteCount = 0
        try statement.forEachRow([
            .integer(query.row), .integer(Int64(first)), .integer(Int64(end) - 1),
            .integer(page.since ?? .min), .integer(page.until ?? .max),
            .integer(Int64(page.limit) + 1),
        ]) { row throws(SQLiteError) in
            guard !found.hasMore else { return }
            let frame = row.blob(at: 3)
            byteCount += frame.count
            guard found.messages.count < page.limit,
                found.messages.isEmpty || byteCount <= query.bytesMax
            else {
                found.hasMore = true
                return
            }
            found.messages.append(
                StoredMessage(
                    serial: UInt64(row.integer(at: 0) ?? 0),
                    time: row.integer(at: 1) ?? 0,
                    except: row.text(at: 2).flatMap { SocketID($0) },
                    frame: frame
                )
            )
        }
        try statements.first.forEachRow([.integer(query.row)]) { row throws(SQLiteError) in
            found.oldest = UInt64(row.integer(at: 0) ?? 0)
        }
        return found
    }
}
