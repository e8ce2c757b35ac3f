internal import CSQLite
internal import SQLite

/// The tables of the archive's file, and of a spool.
enum ArchiveSchema {
    /// The version of the tables, as stored in the file (`PRAGMA user_version`).
    ///
    /// A released version never changes; a new one gets its own number and statements.
    static let version: Int64 = 4

    /// The statements of each version, which convert the former version's tables.
    private static let versions = [tables, sessions, checksums + searches, texts]

    private static let tables = [
        """
        CREATE TABLE streams (
            id INTEGER PRIMARY KEY,
            app TEXT NOT NULL,
            channel TEXT NOT NULL,
            stream TEXT NOT NULL,
            -- The life of the file in which the stream's ID was given.
            life INTEGER NOT NULL,
            -- The serials of the oldest kept message and of the last one.
            oldest INTEGER NOT NULL,
            last INTEGER NOT NULL,
            -- When the oldest kept message was published, and when it is too old; NULL without messages.
            oldest_ms INTEGER,
            expiry_ms INTEGER,
            bytes INTEGER NOT NULL,
            messages_max INTEGER NOT NULL,
            bytes_max INTEGER NOT NULL,
            age_ms INTEGER NOT NULL,
            UNIQUE (app, channel)
        )
        """,
        "CREATE INDEX expiring ON streams (expiry_ms) WHERE expiry_ms IS NOT NULL",
        "CREATE INDEX oldest ON streams (oldest_ms) WHERE oldest_ms IS NOT NULL",
        """
        CREATE INDEX excessive ON streams (id)
        WHERE bytes > bytes_max OR last - oldest >= messages_max
        """,
        """
        CREATE TABLE messages (
            stream INTEGER NOT NULL,
            serial INTEGER NOT NULL,
            time_ms INTEGER NOT NULL,
            except_socket TEXT,
            frame BLOB NOT NULL,
            PRIMARY KEY (stream, serial)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE keys (
            stream INTEGER NOT NULL,
            key TEXT NOT NULL,
            serial INTEGER NOT NULL,
            digest INTEGER NOT NULL,
            expiry_ms INTEGER NOT NULL,
            PRIMARY KEY (stream, key)
        ) WITHOUT ROWID
        """,
        "CREATE INDEX expiring_keys ON keys (expiry_ms)",
        // Sessions of clients with tokens; only a spool writes them.
        """
        CREATE TABLE sessions (
            key BLOB PRIMARY KEY,
            parked_ms INTEGER NOT NULL,
            cursors BLOB NOT NULL
        ) WITHOUT ROWID
        """,
        // Streams whose messages and keys are to be deleted.
        "CREATE TABLE forgotten (stream INTEGER PRIMARY KEY)",
        """
        CREATE TABLE life (
            life INTEGER NOT NULL,
            -- The start of the machine that has written last (boot_id of proc(5)).
            boot_id TEXT NOT NULL,
            is_closed INTEGER NOT NULL,
            -- Whether every transaction was synced.
            is_synced INTEGER NOT NULL,
            -- The number of the last transaction.
            last INTEGER NOT NULL,
            next_stream INTEGER NOT NULL
        )
        """,
        "INSERT INTO life VALUES (1, '', 1, 1, 0, 1)",
    ]

    private static let sessions = [
        // Nothing was ever written to it.
        "DROP TABLE sessions",
        // Sessions of clients with tokens; see SessionCoding.
        """
        CREATE TABLE sessions (
            app TEXT NOT NULL,
            key BLOB NOT NULL,
            -- When the session's last connection ended; NULL while it has one.
            parked_ms INTEGER,
            record BLOB NOT NULL,
            PRIMARY KEY (app, key)
        ) WITHOUT ROWID
        """,
        // The time until which an app, or all apps (''), may have had sessions that were dropped before they expired.
        "CREATE TABLE session_bounds (app TEXT PRIMARY KEY, before_ms INTEGER NOT NULL) WITHOUT ROWID",
        // Whether a stop has written all sessions, and no run has begun since.
        "ALTER TABLE life ADD COLUMN has_all_sessions INTEGER NOT NULL DEFAULT 0",
    ]

    /// Checksums (``RowChecksum``); -1 is none.
    private static let checksums = [
        "ALTER TABLE messages ADD COLUMN crc INTEGER NOT NULL DEFAULT -1",
        "ALTER TABLE keys ADD COLUMN crc INTEGER NOT NULL DEFAULT -1",
        "ALTER TABLE streams ADD COLUMN crc INTEGER NOT NULL DEFAULT -1",
        // Of the last serial, which each transaction changes.
        "ALTER TABLE streams ADD COLUMN end_crc INTEGER NOT NULL DEFAULT -1",
        "ALTER TABLE sessions ADD COLUMN crc INTEGER NOT NULL DEFAULT -1",
        "ALTER TABLE session_bounds ADD COLUMN crc INTEGER NOT NULL DEFAULT -1",
        // The token of the last run (ArchiveMark), 0 before the first; and the checksum of both numbers.
        "ALTER TABLE life ADD COLUMN token INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE life ADD COLUMN crc INTEGER NOT NULL DEFAULT -1",
        // Of the numbers of sessions and bounds that a stop has written.
        "ALTER TABLE life ADD COLUMN sessions_crc INTEGER NOT NULL DEFAULT -1",
        // When a spool was written: both clocks.
        "ALTER TABLE life ADD COLUMN calendar_ms INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE life ADD COLUMN uptime_ms INTEGER NOT NULL DEFAULT 0",
    ]

    /// An index of the streams above their limits, and the seeds of IDs.
    private static let searches = [
        // SQLite uses no partial index for a condition with OR, as in the first version, and scanned all streams.
        "DROP INDEX excessive",
        "CREATE INDEX excessive_streams ON streams (id) WHERE \(isExcessive)",
        // See StreamSeeds.
        "CREATE TABLE seeds (bucket INTEGER PRIMARY KEY, seed INTEGER NOT NULL)",
    ]

    /// The text of each message in place of its frame.
    private static let texts = ["ALTER TABLE messages RENAME COLUMN frame TO text"]

    /// The condition of a stream that exceeds its limits, as one term.
    static let isExcessive = "MAX(bytes - bytes_max, last - oldest - messages_max + 1) > 0"

    /// Creates the tables of a new file, and those missing in an older one, up to a version.
    ///
    /// An earlier version serves to test a migration. Throws a ``SQLiteError``, or ``ArchiveError/unknownVersion(_:)``.
    static func prepare(_ connection: SQLiteConnection, to version: Int64 = version) throws {
        let found = try connection.integer("PRAGMA user_version") ?? 0
        guard found != version else { return }
        guard found < version else { throw ArchiveError.unknownVersion(found) }
        guard found >= 0 else {
            throw SQLiteError(code: SQLITE_CORRUPT, message: "version \(found)", sql: nil)
        }
        try connection.transaction {
            for statements in versions[Int(found)..<Int(version)] {
                for statement in statements { try connection.execute(statement) }
            }
            if found > 0, version == Self.version {
                try ArchiveMigration(connection: connection).run(from: found)
            }
            try connection.execute("PRAGMA user_version = \(version)")
        }
    }
}

/// Why an archive cannot be used.
package enum ArchiveError: Error, Equatable, CustomStringConvertible {
    /// Another process holds the file.
    case inUse(String)
    /// The file is of a later version of Fanfare.
    case unknownVersion(Int64)
    /// The file cannot be opened.
    case failed(String)
    /// The open file is no longer at its path.
    case misplaced(String)

    /// The error, as a sentence without its full stop.
    package var description: String {
        switch self {
        case .inUse(let reason), .failed(let reason): reason
        case .misplaced(let path):
            "\(path) or its log was deleted, moved or replaced while the broker used it: put it "
                + "back, or restart the broker to use the file that is there now"
        case .unknownVersion(let version):
            "the file's tables have version \(version), which this Fanfare does not support"
        }
    }
}
