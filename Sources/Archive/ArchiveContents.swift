package import Broker
internal import Primitives
internal import PusherProtocol
internal import SQLite

extension ArchiveFile {
    /// Reads the streams, keys and sessions, without the keys that have expired by `now`, in milliseconds since 1970.
    package func contents(at now: Int64) throws -> ArchiveContents {
        var contents = ArchiveContents()
        var addresses: Set<ChannelAddress> = []
        var refused: [Int64] = []
        try connection.forEachRow(
            """
            SELECT id, app, channel, stream, life, last, crc, end_crc, messages_max, bytes_max, age_ms,
                (SELECT COALESCE(MAX(serial), 0) FROM messages WHERE stream = id) AS newest
            FROM streams
            """
        ) { row throws(SQLiteError) in
            let isWhole = row.integer("newest") <= row.integer("last")
            if isWhole, let stream = Self.stream(row), addresses.insert(stream.address).inserted {
                contents.streams.append((stream, row.integer("life") == life))
            } else {
                refused.append(row.integer("id"))
                addDamage(of: row.text("channel"))
            }
        }
        try forgetRefused(refused)
        try connection.forEachRow(
            """
            SELECT stream, key, serial, digest, expiry_ms, crc FROM keys WHERE expiry_ms > ? ORDER BY expiry_ms
            """,
            [.integer(now)]
        ) { row throws(SQLiteError) in
            guard let (stream, serial, key) = Self.key(row, skew: skew) else {
                return addDamage(of: "idempotency keys")
            }
            contents.keys.append((stream, serial, key))
        }
        contents.nextRow = try nextRow()
        contents.seeds = try seeds()
        contents.sessions = try SessionRows(connection: connection, skew: skew)
            .read(isComplete: hasAllSessions)
        return contents
    }

    /// The stream of a row; `nil` for a damaged row.
    private static func stream(_ row: SQLiteRow) -> StoredStream? {
        let (number, life, last) = (row.integer("id"), row.integer("life"), row.integer("last"))
        let (app, channel, text) = (row.text("app"), row.text("channel"), row.text("stream"))
        let sum = RowChecksum.stream(row: number, life: life, app: app, channel: channel, text)
        guard sum == row.integer("crc"),
            RowChecksum.end(row: number, last: last) == row.integer("end_crc"),
            UInt64(safe: number) != nil, let lastSerial = UInt64(safe: last),
            let id = StreamID(text), let name = try? ChannelName(channel, limits: .stored)
        else { return nil }
        var rule = RecoveryRule()
        rule.messagesMax = Int(row.integer("messages_max"))
        rule.bytesMax = Int(row.integer("bytes_max"))
        rule.ageMax = Int(row.integer("age_ms") / 1_000)
        return StoredStream(
            row: number,
            ChannelAddress(app: AppID(app), name: name),
            id,
            lastSerial: lastSerial,
            StoredStream.Limits(rule)
        )
    }

    /// The key of a row, with its expiry by the calendar; `nil` for a damaged row.
    static func key(_ row: SQLiteRow, skew: Int64) -> (row: Int64, serial: UInt64, key: StoredKey)?
    {
        let (stream, text, serial) = (row.integer("stream"), row.text("key"), row.integer("serial"))
        let (digest, expiry) = (row.integer("digest"), row.integer("expiry_ms"))
        let sum = RowChecksum.key(row: stream, serial: serial, digest: digest, expiry: expiry, text)
        guard sum == row.integer("crc"), expiry.magnitude <= SafeInteger.max.magnitude,
            let number = UInt64(safe: serial), let key = IdempotencyKey(text)
        else { return nil }
        let stored = StoredKey(key, digest: UInt64(bitPattern: digest), expiry: expiry &- skew)
        return (stream, number, stored)
    }

    /// Drops streams whose rows are damaged, so that their channels begin others.
    private func forgetRefused(_ rows: [Int64]) throws {
        guard !rows.isEmpty else { return }
        try connection.transaction { for row in rows { try forget(row) } }
        // The channel in a damaged row may be wrong.
        try renewSeeds()
    }

    /// The first number that no stream has had, even if the row that contains it is damaged.
    private func nextRow() throws(SQLiteError) -> Int64 {
        var next = try connection.integer("SELECT next_stream FROM life") ?? 1
        if UInt64(safe: next) == nil { next = 1 }
        for (table, column) in [
            ("streams", "id"), ("messages", "stream"), ("keys", "stream"), ("forgotten", "stream"),
        ] {
            let used = try connection.integer(
                "SELECT MAX(\(column)) FROM \(table) WHERE \(column) <= ?",
                [.integer(SafeInteger.max - 1)]
            )
            next = max(next, (used ?? 0) + 1)
        }
        return next
    }
}
