internal import Broker
internal import CSQLite
internal import Glibc
internal import SQLite

/// The schema of the webhook file.
enum WebhookQueueSchema {
    /// The name of the only schema so far, as stored in the file.
    ///
    /// A released schema never changes: a new one gets its own name and statements.
    private static let name = "deliveries and dead letters"

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

    /// Migrates a database to the newest schema, and enables the write-ahead log.
    ///
    /// - Parameters:
    ///   - database: The open database.
    ///   - isFile: Whether it is a file, not memory.
    /// - Throws: A ``SQLiteError``.
    static func prepare(_ database: SQLiteDatabase, isFile: Bool) throws {
        try database.access { connection in
            if isFile {
                try writeAhead(connection)
                // The loss after a power failure is documented; otherwise each change would wait for the disk.
                try connection.execute("PRAGMA synchronous = NORMAL")
            }
            // A file with the current schema is not locked: another process may be writing for long.
            guard try !isCurrent(connection) else { return }
            try connection.transaction {
                // Another process may have migrated it meanwhile.
                guard try !isCurrent(connection) else { return }
                try connection.execute(
                    "CREATE TABLE IF NOT EXISTS \(table) (identifier TEXT NOT NULL PRIMARY KEY)"
                )
                for statement in statements { try connection.execute(statement) }
                try connection.execute("INSERT INTO \(table) VALUES (?)", [.text(name)])
            }
        }
    }

    private static func isCurrent(_ connection: SQLiteConnection) throws(SQLiteError) -> Bool {
        let tables = try connection.integer(
            "SELECT COUNT(*) FROM sqlite_master WHERE name = ?",
            [.text(table)]
        )
        guard tables == 1 else { return false }
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

extension Delivery {
    /// Reads a row of `deliveries`.
    init(_ row: SQLiteRow) {
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
    }

    /// Writes a row of `deliveries`.
    func insert(into connection: SQLiteConnection) throws(SQLiteError) {
        try connection.execute(
            "INSERT OR REPLACE INTO deliveries VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                .integer(id), .text(endpoint.app.text), .text(endpoint.url),
                .integer(Int64(endpoint.ordinal)), .integer(time),
                .text(channels.joined(separator: "\n")), .blob(events),
            ]
        )
    }
}

extension DeadLetter {
    /// Reads a row of `dead_letters`.
    init(_ row: SQLiteRow) {
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
    }

    /// Writes a row of `dead_letters`.
    func insert(into connection: SQLiteConnection) throws(SQLiteError) {
        try connection.execute(
            "INSERT OR REPLACE INTO dead_letters VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)",
            [
                .integer(id), .text(app.text), .text(url), .integer(Int64(ordinal)), .integer(time),
                .text(channels.joined(separator: "\n")), .blob(events), .text(cause.rawValue),
                .text(detail), .integer(Int64(attempts)), .integer(deathTime),
            ]
        )
    }

    /// Reads all rows of a query.
    static func all(
        _ sql: String,
        _ arguments: [SQLiteValue],
        in connection: SQLiteConnection
    ) throws(SQLiteError) -> [DeadLetter] {
        var letters: [DeadLetter] = []
        try connection.forEachRow(sql, arguments) { letters.append(DeadLetter($0)) }
        return letters
    }
}
