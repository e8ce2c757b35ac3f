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
    private static let schemas: [(name: String, statements: [String])] = [
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

    /// Enables the write-ahead log, and migrates a database to the newest schema.
    static func prepare(_ database: SQLiteDatabase) throws {
        try database.access { connection in
            try writeAhead(connection)
            // The loss after a power failure is documented; otherwise each change would wait for the disk.
            try connection.execute("PRAGMA synchronous = NORMAL")
            // A file with the current schema is not locked, because another process may be writing for a long time.
            guard try !missing(in: connection).isEmpty else { return }
            try connection.transaction {
                try connection.execute(
                    "CREATE TABLE IF NOT EXISTS \(table) (identifier TEXT NOT NULL PRIMARY KEY)"
                )
                // Another process may have migrated it meanwhile.
                for (name, statements) in try missing(in: connection) {
                    for statement in statements { try connection.execute(statement) }
                    try connection.execute("INSERT INTO \(table) VALUES (?)", [.text(name)])
                }
            }
        }
    }

    /// The schemas that a database lacks.
    private static func missing(
        in connection: SQLiteConnection
    ) throws(SQLiteError) -> [(name: String, statements: [String])] {
        let tables = "SELECT COUNT(*) FROM sqlite_master WHERE name = ?"
        guard try connection.integer(tables, [.text(table)]) == 1 else { return schemas }
        var applied: Set<String> = []
        try connection.forEachRow("SELECT identifier FROM \(table)") { row throws(SQLiteError) in
            applied.insert(row.text("identifier"))
        }
        return schemas.filter { !applied.contains($0.name) }
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

extension SQLiteRow {
    /// Whether a webhook's numbers are possible, and its checksum is right or of an earlier version.
    fileprivate func isIntact(_ sum: Int64) -> Bool {
        let numbers = ["id", "time_ms", "ordinal"].map { integer($0) }
        guard numbers.allSatisfy({ UInt64(safe: $0) != nil }) else { return false }
        return isNull("crc") || integer("crc") == sum
    }
}

/// The columns that both tables begin with.
extension Delivery {
    /// Reads a row of `deliveries`; `nil` for a damaged one.
    init?(_ row: SQLiteRow) {
        self.init(columnsOf: row)
        guard row.isIntact(checksum()) else { return nil }
    }

    fileprivate init(columnsOf row: SQLiteRow, attempts: Int64 = 0) {
        self.init(
            id: row.integer("id"),
            endpoint: EndpointKey(
                app: AppID(row.text("app")),
                url: row.text("url"),
                ordinal: Int(row.integer("ordinal"))
            ),
            time: row.integer("time_ms"),
            events: row.blob("events"),
            channels: row.text("channels").split(separator: "\n").map(String.init),
            attempts: Int(attempts)
        )
    }

    fileprivate var columns: [SQLiteValue] {
        [
            .integer(id), .text(endpoint.app.text), .text(endpoint.url),
            .integer(Int64(endpoint.ordinal)), .integer(time), .text(channelLines),
            .blob(events[...]),
        ]
    }

    private var channelLines: String { channels.joined(separator: "\n") }

    /// A checksum of a row with some more columns (CRC-32C): SQLite has none.
    fileprivate func checksum(_ numbers: [Int64] = [], _ texts: [String] = []) -> Int64 {
        var sum = CRC32C()
        for number in [id, Int64(endpoint.ordinal), time] + numbers { sum.add(number) }
        for text in [endpoint.app.text, endpoint.url, channelLines] + texts {
            sum.addField(Array(text.utf8).span)
        }
        sum.addField(events.span)
        return Int64(sum.value)
    }

    /// The statement that writes a row of `deliveries`.
    static let insertion = "INSERT OR REPLACE INTO deliveries VALUES (?, ?, ?, ?, ?, ?, ?, ?)"

    /// The row's values.
    var row: [SQLiteValue] { columns + [.integer(checksum())] }
}

extension DeadLetter {
    private var checksum: Int64 {
        delivery.checksum([Int64(attempts), deathTime], [cause.rawValue, detail])
    }

    /// Reads a row of `dead_letters`; `nil` for a damaged one.
    init?(_ row: SQLiteRow) {
        self.init(
            delivery: Delivery(columnsOf: row, attempts: row.integer("attempts")),
            // An unknown cause of a later version becomes the least specific one.
            cause: Cause(rawValue: row.text("cause")) ?? .exhausted,
            detail: row.text("detail"),
            deathTime: row.integer("death_ms"),
            isReplayed: row.integer("is_replayed") != 0
        )
        guard row.isIntact(checksum), deathTime.magnitude <= SafeInteger.max.magnitude else {
            return nil
        }
    }

    /// Writes a row of `dead_letters`.
    func insert(into connection: SQLiteConnection) throws(SQLiteError) {
        try connection.execute(
            "INSERT OR REPLACE INTO dead_letters VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?)",
            delivery.columns + [
                .text(cause.rawValue), .text(detail), .integer(Int64(attempts)),
                .integer(deathTime), .integer(checksum),
            ]
        )
    }
}
