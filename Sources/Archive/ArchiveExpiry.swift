internal import SQLite

/// The deletion of expired or excess messages, in portions between two transactions.
extension ArchiveFile {
    /// The searches of each pass, which must not scan all streams; each has its index.
    enum Searches {
        static let expired =
            "SELECT id FROM streams WHERE expiry_ms < ? ORDER BY expiry_ms LIMIT 1"
        static let excessive =
            "SELECT id FROM streams WHERE \(ArchiveSchema.isExcessive) LIMIT 1"
        static let oldest =
            "SELECT id FROM streams WHERE oldest_ms IS NOT NULL ORDER BY oldest_ms LIMIT 1"
        static let forgotten = "SELECT stream FROM forgotten LIMIT 1"
        static let expiredKeys = "SELECT stream, key FROM keys WHERE expiry_ms <= ? LIMIT ?"
    }

    /// The maximum number of rows deleted at a time, between two transactions of others.
    private static var removedMax: Int64 { 500 }
    /// The same for messages that a budget deletes before they expire.
    private static var forcedMax: Int64 { 100 }

    /// Deletes a portion of the expired or excess messages, and returns whether there may be more.
    ///
    /// A message has expired when it is older than its stream's age, as in memory; one of exactly that age is kept.
    package func removeExpired(at now: Int64) throws -> Bool {
        var count = 0
        try connection.transaction {
            if let row = try connection.integer(Searches.expired, [.integer(now)]) {
                count += try trim(row, olderThan: now)
            } else if let row = try connection.integer(Searches.excessive) {
                count += try trim(row, olderThan: now)
            } else if try exceedsBudget(), let row = try connection.integer(Searches.oldest) {
                count += try trim(row, olderThan: now, isForced: true)
            }
            count += try removeForgotten()
            try statements.expireKeys.run([.integer(now), .integer(Self.removedMax)])
            count += connection.changeCount
        }
        return count > 0
    }

    /// The maximum number of portions that a budget deletes between two transactions: more than one transaction adds.
    private static var forcedPortionsMax: Int { 200 }

    /// Deletes the oldest messages above ``Settings/byteCountMax``, before the next transaction adds more.
    func keepBudget() throws {
        guard try exceedsBudget() else { return }
        hasMetBudget = true
        try connection.transaction {
            for _ in 0..<Self.forcedPortionsMax {
                guard try exceedsBudget(), let row = try connection.integer(Searches.oldest) else {
                    return
                }
                _ = try trim(row, olderThan: .min, isForced: true)
            }
        }
    }

    /// Whether a transaction has exceeded the budget since the last call.
    package func takeBudgetHit() -> Bool {
        defer { hasMetBudget = false }
        return hasMetBudget
    }

    /// Whether the messages exceed ``Settings/byteCountMax``.
    func exceedsBudget() throws -> Bool { exceedsBudget(try usedByteCount()) }

    /// Whether the messages exceed ``Settings/byteCountMax`` if this many bytes are used.
    func exceedsBudget(_ usedByteCount: Int) -> Bool {
        usedByteCount - sessionByteCount > settings.byteCountMax
    }

    /// The size of the pages in use, in bytes.
    package func usedByteCount() throws -> Int {
        var count = 0
        try statements.pageCount.forEachRow { row throws(SQLiteError) in
            count += Int(row.integer(at: 0) ?? 0)
        }
        try statements.freePageCount.forEachRow { row throws(SQLiteError) in
            count -= Int(row.integer(at: 0) ?? 0)
        }
        return count * statements.pageSize
    }

    /// Deletes the oldest messages of a stream that have expired or exceed its limits.
    private func trim(_ row: Int64, olderThan now: Int64, isForced: Bool = false) throws -> Int {
        var stream: (last: Int64, bytes: Int64, messagesMax: Int64, bytesMax: Int64, age: Int64)?
        try connection.forEachRow("SELECT * FROM streams WHERE id = ?", [.integer(row)]) {
            row throws(SQLiteError) in
            stream = (
                row.integer("last"), row.integer("bytes"), row.integer("messages_max"),
                row.integer("bytes_max"), row.integer("age_ms")
            )
        }
        guard var stream else { return 0 }
        var end: Int64?
        var count = 0
        var next: (serial: Int64, time: Int64)?
        let countMax = isForced ? Self.forcedMax : Self.removedMax
        try connection.forEachRow(
            "SELECT serial, time_ms, LENGTH(text) FROM messages WHERE stream = ? ORDER BY serial LIMIT ?",
            [.integer(row), .integer(countMax + 1)]
        ) { found throws(SQLiteError) in
            let (serial, time) = (found.integer(at: 0) ?? 0, found.integer(at: 1) ?? 0)
            guard next == nil else { return }
            let isDue =
                isForced || time < now &- stream.age || stream.bytes > stream.bytesMax
                || stream.last &- serial >= stream.messagesMax
            guard isDue, count < countMax else {
                next = (serial, time)
                return
            }
            count += 1
            end = serial
            stream.bytes &-= found.integer(at: 2) ?? 0
        }
        if let end {
            try connection.execute(
                "DELETE FROM messages WHERE stream = ? AND serial <= ?",
                [.integer(row), .integer(end)]
            )
        }
        try connection.execute(
            """
            UPDATE streams SET oldest = ?, oldest_ms = ?, expiry_ms = ? + age_ms, bytes = ?
            WHERE id = ?
            """,
            [
                .integer(next?.serial ?? stream.last &+ 1), next.map { .integer($0.time) } ?? .null,
                next.map { .integer($0.time) } ?? .null, .integer(next == nil ? 0 : stream.bytes),
                .integer(row),
            ]
        )
        return max(count, 1)
    }

    /// Deletes messages and keys of forgotten streams.
    private func removeForgotten() throws -> Int {
        guard let row = try connection.integer(Searches.forgotten) else {
            return 0
        }
        var count = 0
        for (table, column) in [("messages", "serial"), ("keys", "key")] {
            try connection.execute(
                """
                DELETE FROM \(table) WHERE stream = ?1 AND \(column) IN
                    (SELECT \(column) FROM \(table) WHERE stream = ?1 LIMIT ?2)
                """,
                [.integer(row), .integer(Self.removedMax)]
            )
            count += connection.changeCount
        }
        if count == 0 {
            try connection.execute("DELETE FROM forgotten WHERE stream = ?", [.integer(row)])
            count = 1
        }
        return count
    }
}
