internal import SQLite

/// The statements of every transaction, compiled once.
struct ArchiveStatements {
    let sync: SQLiteStatement
    let unsync: SQLiteStatement
    let last: SQLiteStatement
    let setLast: SQLiteStatement
    let insertMessage: SQLiteStatement
    let insertKey: SQLiteStatement
    let grow: SQLiteStatement
    let replace: SQLiteStatement
    let forgetChannel: SQLiteStatement
    let open: SQLiteStatement
    let useRow: SQLiteStatement
    let forget: SQLiteStatement
    let forgetRows: SQLiteStatement
    let oldest: SQLiteStatement
    let newest: SQLiteStatement
    let first: SQLiteStatement
    let neighbours: SQLiteStatement
    let expireKeys: SQLiteStatement
    let pageCount: SQLiteStatement
    let freePageCount: SQLiteStatement
    /// The size of a page, in bytes.
    let pageSize: Int

    init(_ connection: SQLiteConnection) throws(SQLiteError) {
        sync = try connection.prepare("PRAGMA synchronous = FULL")
        unsync = try connection.prepare("PRAGMA synchronous = NORMAL")
        last = try connection.prepare("SELECT last FROM life")
        setLast = try connection.prepare("UPDATE life SET last = ?")
        insertMessage = try connection.prepare("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?)")
        // A key that has expired may be left from an earlier event.
        insertKey = try connection.prepare(
            "INSERT OR REPLACE INTO keys VALUES (?, ?, ?, ?, ?, ?)"
        )
        grow = try connection.prepare(
            """
            UPDATE streams SET last = ?, end_crc = ?, bytes = bytes + ?,
                oldest = IIF(oldest_ms IS NULL, ?, oldest), oldest_ms = COALESCE(oldest_ms, ?),
                expiry_ms = COALESCE(expiry_ms, ? + age_ms)
            WHERE id = ?
            """
        )
        replace = try connection.prepare(
            """
            INSERT OR IGNORE INTO forgotten
            SELECT id FROM streams WHERE app = ? AND channel = ? AND id <> ?
            """
        )
        forgetChannel = try connection.prepare(
            "DELETE FROM streams WHERE app = ? AND channel = ? AND id <> ?"
        )
        open = try connection.prepare(
            """
            INSERT INTO streams VALUES (?, ?, ?, ?, ?, ?, ?, NULL, NULL, 0, ?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET stream = excluded.stream, life = excluded.life,
                messages_max = excluded.messages_max, bytes_max = excluded.bytes_max,
                age_ms = excluded.age_ms, expiry_ms = oldest_ms + excluded.age_ms,
                crc = excluded.crc
            """
        )
        useRow = try connection.prepare("UPDATE life SET next_stream = MAX(next_stream, ?)")
        forget = try connection.prepare("DELETE FROM streams WHERE id = ?")
        forgetRows = try connection.prepare("INSERT OR IGNORE INTO forgotten VALUES (?)")
        let columns = "SELECT serial, time_ms, except_socket, text, crc FROM messages"
        let range = "WHERE stream = ? AND serial BETWEEN ? AND ? AND time_ms BETWEEN ? AND ?"
        oldest = try connection.prepare("\(columns) \(range) ORDER BY serial LIMIT ?")
        newest = try connection.prepare("\(columns) \(range) ORDER BY serial DESC LIMIT ?")
        first = try connection.prepare("SELECT MIN(serial) FROM messages WHERE stream = ?")
        // How many serials there are in a range, those next to it, and the stream's last one.
        neighbours = try connection.prepare(
            """
            SELECT
                (SELECT COUNT(*) FROM messages WHERE stream = ?1 AND serial BETWEEN ?2 AND ?3),
                (SELECT MAX(serial) FROM messages WHERE stream = ?1 AND serial < ?2),
                (SELECT MIN(serial) FROM messages WHERE stream = ?1 AND serial > ?3),
                (SELECT last FROM streams WHERE id = ?1)
            """
        )
        pageCount = try connection.prepare("PRAGMA page_count")
        freePageCount = try connection.prepare("PRAGMA freelist_count")
        pageSize = Int(try connection.integer("PRAGMA page_size") ?? 0)
        expireKeys = try connection.prepare(
            """
            DELETE FROM keys WHERE (stream, key) IN
                (\(ArchiveFile.Searches.expiredKeys))
            """
        )
    }
}
