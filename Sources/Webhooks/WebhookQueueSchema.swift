internal import Broker
internal import CSQLite
internal import Glibc
internal import Primitives
internal import SQLite

/// The schema of the webhook file.
enum WebhookQueueSchema {
    /// The schemas in order, with their names as stored in the file.
    ///
    /// A released schema never changes; a new one gets its own name and statements.
    private static let schemas = [
        ("deliveries and dead letters", statements),
        // For a row written by an earlier version without a checksum, only the numbers are checked.
        (
            "checksums",
            [
                "ALTER TABLE deliveries ADD COLUMN crc INTEGER",
                "ALTER TABLE dead_letters ADD COLUMN crc INTEGER",
            ]
        ),
    ]

    /// The table of applied schemas.
    private static let table = "grdb_migrations"

    static let statements = [
        """
        CREATE TABLE deliveries (
            id INTEGER PRIMARY KEY,
            app TEXT NOT NULL,
            url TEXT NOT NULL,
            ordinal INTEGER NOT NULL,
            time_ms INTEGER NOT NULL,
            -- Separated by line feeds, which no name of a channel has.
            channels TEXT NOT NULL,
            events BLOB NOT NULL
        )
        """,
        """
        CREATE TABLE dead_letters (
            id INTEGER PRIMARY KEY,
            app TEXT NOT NULL,
            url TEXT NOT NULL,
            ordinal INTEGER NOT NULL,
            time_ms INTEGER NOT NULL,
            channels TEXT NOT NULL,
            events BLOB NOT NULL,
            cause TEXT NOT NULL,
            detail TEXT NOT NULL,
            attempts INTEGER NOT NULL,
            death_ms INTEGER NOT NULL,
            is_replayed INTEGER NOT NULL DEFAULT 0
        )
        """,
        """
        -- The broker looks for these every few seconds.
        CREATE INDEX replays ON dead_letters (id) WHERE is_replayed
        """,
    ]

    /// Migrates a database to the newest schema, and enables the write-ahead log if it is a file, not memory.
    static func prepare(_ database: SQLiteDatabase, isFile: Bool) throws {
        try database.access { connection in
            if isFile {
                try writeAhead(connection)
                // The loss after a power failure is documented; otherwise each change would wait for the disk.
                try connection.execute("PRAGMA synchronous = NORMAL")
            }
            // A file with the current schema is not locked, because another process may be writing for a long time.
            guard try !isCurrent(connection) else { return }
            try connection.transaction {
                // Another process may have migrated it meanwhile.
                guard try !isCurrent(connection) else { return }
                try connection.execute(
                    "CREATE TABLE IF NOT EXISTS \(table) (identifier TEXT NOT NULL PRIMARY KEY)"
                )
                for (name, statements) in schemas where try !isApplied(name, connection) {
                    for statement in statements { try connection.execute(statement) }
                    try connection.execute("INSERT INTO \(table) VALUES (?)", [.text(name)])
                }
            }
        }
    }

    private static func isCurrent(_ connection: SQLiteConnection) throws(SQLiteError) -> Bool {
        let tables = try connection.integer(
            "SELECT COUNT(*) FROM sqlite_master WHERE name = ?",
            [.text(table)]
        )
        guard tables == 1 else { return false }
        for (name, _) in schemas where try !isApplied(name, connection) { return false }
        return true
    }

    private static func isApplied(
        _ name: String,
        _ connection: SQLiteConnection
    ) throws(SQLiteError) -> Bool {
        let sql = "SELECT COUNT(*) FROM \(table) WHERE identifier = ?"
        return try connection.integer(sql, [.text(name)]) == 1
    }

    /// Enables the write-ahead log, in which readers and writers do not block each other.
    ///
    /// While another process does the same, SQLite fails as busy at once, without waiting.
    private static func writeAhead(_ connection: SQLiteConnection) throws(SQLiteError) {
        let deadline = ContinuousClock.now + .seconds(WebhookQueue.busyTimeout)
        while true {
            do throws(SQLiteError) {
                return try connection.execute("PRAGMA journal_mode = WAL")
            } catch {
                guard error.code == SQLITE_BUSY, .now < deadline else { throw error }
                usleep(1_000)
            }
        }
    }
}

/// A checksum of a row (CRC-32C): SQLite has none.
private func rowChecksum(_ numbers: [Int64], _ fields: [[UInt8]]) -> Int64 {
    var sum = CRC32C()
    for number in numbers { sum.add(number) }
    for field in fields { sum.addField(field.span) }
    return Int64(sum.value)
}

extension SQLiteRow {
    /// Whether a webhook's numbers are possible, and its checksum is right or of an earlier version.
    fileprivate func isIntact(_ sum: Int64) -> Bool {
        let numbers = ["id", "time_ms", "ordinal"].map { integer($0) }
        guard numbers.allSatisfy({ UInt64(safe: $0) != nil }) else { return false }
        return isNull("crc") || integer("crc") == sum
    }
}

extension Delivery {
    private var checksum: Int64 {
        rowChecksum(
            [id, Int64(endpoint.ordinal), time],
            [endpoint.app.text, endpoint.url].map { Array($0.utf8) }
                + [Array(channels.joined(separator: "\n").utf8), events]
        )
    }

    /// Reads a row of `deliveries`; `nil` for a damaged one.
    init?(_ row: SQLiteRow) {
        self.init(
            id: row.integer("id"),
            endpoint: EndpointKey(
                app: AppID(row.text("app")),
                url: row.text("url"),
                ordinal: Int(row.integer("ordinal"))
            ),
            time: row.integer("time_ms"),
            events: row.blob("events"),
            channels: row.text("channels").split(separator: "\n").map(String.init)
        )
        guard row.isIntact(checksum) else { return nil }
    }

    /// Writes a row of `deliveries`.
    func insert(into connection: SQLiteConnection) throws(SQLiteError) {
        try connection.execute(
            "INSERT OR REPLACE INTO deliveries VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                .integer(id), .text(endpoint.app.text), .text(endpoint.url),
                .integer(Int64(endpoint.ordinal)), .integer(time),
                .text(channels.joined(separator: "\n")), .blob(events[...]), .integer(checksum),
            ]
        )
    }
}

extension DeadLetter {
    private var checksum: Int64 {
        rowChecksum(
            [id, Int64(ordinal), time, Int64(attempts), deathTime],
            [app.text, url, channels.joined(separator: "\n"), cause.rawValue, detail]
                .map { Array($0.utf8) } + [events]
        )
    }

    /// Reads a row of `dead_letters`; `nil` for a damaged one.
    init?(_ row: SQLiteRow) {
        self.init(
            id: row.integer("id"),
            app: AppID(row.text("app")),
            url: row.text("url"),
            ordinal: Int(row.integer("ordinal")),
            time: row.integer("time_ms"),
            channels: row.text("channels").split(separator: "\n").map(String.init),
            // An unknown cause of a later version becomes the least specific one.
            cause: Cause(rawValue: row.text("cause")) ?? .exhausted,
            detail: row.text("detail"),
            attempts: Int(row.integer("attempts")),
            deathTime: row.integer("death_ms"),
            isReplayed: row.integer("is_replayed") != 0,
            events: row.blob("events")
        )
        guard row.isIntact(checksum), deathTime.magnitude <= SafeInteger.max.magnitude else {
            return nil
        }
    }

    /// Writes a row of `dead_letters`.
    func insert(into connection: SQLiteConnection) throws(SQLiteError) {
        try connection.execute(
            "INSERT OR REPLACE INTO dead_letters VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?)",
            [
                .integer(id), .text(app.text), .text(url), .integer(Int64(ordinal)), .integer(time),
                .text(channels.joined(separator: "\n")), .blob(events[...]), .text(cause.rawValue),
                .text(detail), .integer(Int64(attempts)), .integer(deathTime),
                .integer(checksum),
            ]
        )
    }

    /// Reads all rows of a query, apart from damaged ones.
    static func all(
        _ sql: String,
        _ arguments: [SQLiteValue],
        in connection: SQLiteConnection
    ) throws(SQLiteError) -> [DeadLetter] {
        var letters: [DeadLetter] = []
        try connection.forEachRow(sql, arguments) { row in
            if let letter = DeadLetter(row) { letters.append(letter) }
        }
        return letters
    }
}
