internal import Broker
internal import Primitives
internal import PusherProtocol
internal import SQLite

/// Adds the checksums of version 3 to the rows of an earlier file, within the transaction that changes its tables.
///
/// A row that was damaged before would get a checksum of its damage. Rows that other checks find damaged get none.
struct ArchiveMigration {
    let connection: SQLiteConnection
    /// The number of messages that are read at a time.
    private static var portion: Int64 { 500 }

    func addChecksums() throws {
        try addToMessages()
        try addToKeys()
        try addToStreams()
        try addToSessions()
    }

    private func addToMessages() throws {
        let read = try connection.prepare(
            """
            SELECT stream, serial, time_ms, except_socket, frame FROM messages
            WHERE (stream, serial) > (?, ?) ORDER BY stream, serial LIMIT ?
            """
        )
        let write = try connection.prepare(
            "UPDATE messages SET crc = ? WHERE stream = ? AND serial = ?"
        )
        var place = (row: Int64.min, serial: Int64.min)
        while true {
            var sums: [(sum: Int64, row: Int64, serial: Int64)] = []
            try read.forEachRow([
                .integer(place.row), .integer(place.serial), .integer(Self.portion),
            ]) { row throws(SQLiteError) in
                place = (row.integer(at: 0) ?? 0, row.integer(at: 1) ?? 0)
                let message = StoredMessage(row, serialAt: 1)
                let isWhole = message.map { Self.isTextFrame($0.frame.span) } ?? false
                let sum = message.map { RowChecksum.message(row: place.row, $0) }
                sums.append(((isWhole ? sum : nil) ?? RowChecksum.none, place.row, place.serial))
            }
            for (sum, row, serial) in sums {
                try write.run([.integer(sum), .integer(row), .integer(serial)])
            }
            guard sums.count == Int(Self.portion) else { return }
        }
    }

    private func addToKeys() throws {
        var sums: [(row: Int64, key: String, sum: Int64)] = []
        try connection.forEachRow("SELECT stream, key, serial, digest, expiry_ms FROM keys") {
            row throws(SQLiteError) in
            let (stream, key) = (row.integer(at: 0) ?? 0, row.text(at: 1) ?? "")
            let sum = RowChecksum.key(
                row: stream,
                serial: row.integer(at: 2) ?? 0,
                digest: row.integer(at: 3) ?? 0,
                expiry: row.integer(at: 4) ?? 0,
                key
            )
            sums.append((stream, key, sum))
        }
        for (row, key, sum) in sums {
            try connection.execute(
                "UPDATE keys SET crc = ? WHERE stream = ? AND key = ?",
                [.integer(sum), .integer(row), .text(key)]
            )
        }
    }

    private func addToStreams() throws {
        var sums: [(row: Int64, last: Int64, sum: Int64)] = []
        try connection.forEachRow(
            """
            SELECT id, MAX(last, (SELECT COALESCE(MAX(serial), 0) FROM messages WHERE stream = id)), life,
                app, channel, stream FROM streams
            """
        ) { row throws(SQLiteError) in
            let id = row.integer(at: 0) ?? 0
            let sum = RowChecksum.stream(
                row: id,
                life: row.integer(at: 2) ?? 0,
                app: row.text(at: 3) ?? "",
                channel: row.text(at: 4) ?? "",
                row.text(at: 5) ?? ""
            )
            sums.append((id, row.integer(at: 1) ?? 0, sum))
        }
        for (row, last, sum) in sums {
            try connection.execute(
                "UPDATE streams SET last = ?, end_crc = ?, crc = ? WHERE id = ?",
                [
                    .integer(last), .integer(RowChecksum.end(row: row, last: last)), .integer(sum),
                    .integer(row),
                ]
            )
        }
    }

    private func addToSessions() throws {
        var sums: [(app: String, key: [UInt8], sum: Int64)] = []
        try connection.forEachRow("SELECT app, key, parked_ms FROM sessions") {
            row throws(SQLiteError) in
            let (app, key) = (row.text(at: 0) ?? "", row.blob(at: 1))
            let sum = RowChecksum.session(app: app, key: key, parkedAt: row.integer(at: 2))
            sums.append((app, key, sum))
        }
        for (app, key, sum) in sums {
            try connection.execute(
                "UPDATE sessions SET crc = ? WHERE app = ? AND key = ?",
                [.integer(sum), .text(app), .blob(key)]
            )
        }
        var bounds: [(app: String, before: Int64)] = []
        try connection.forEachRow("SELECT app, before_ms FROM session_bounds") {
            row throws(SQLiteError) in
            bounds.append((row.text(at: 0) ?? "", row.integer(at: 1) ?? 0))
        }
        for (app, before) in bounds {
            try connection.execute(
                "UPDATE session_bounds SET crc = ? WHERE app = ?",
                [.integer(RowChecksum.bound(app: app, before: before)), .text(app)]
            )
        }
        let (life, token) = (try connection.integer("SELECT life FROM life") ?? 1, Int64(0))
        try connection.execute(
            "UPDATE life SET crc = ?, sessions_crc = ?",
            [
                .integer(RowChecksum.numbers(life, token)),
                .integer(try SessionRows(connection: connection).checksum()),
            ]
        )
    }

    /// Whether a frame is one whole unmasked text message (RFC 6455 §5.2) of UTF-8, in the braces of a JSON object.
    private static func isTextFrame(_ frame: Span<UInt8>) -> Bool {
        guard frame.count >= 4, frame[0] == 0x81, frame[1] < 0x80 else { return false }
        let start = frame[1] == 126 ? 4 : frame[1] == 127 ? 10 : 2
        guard frame.count >= start + 2 else { return false }
        var length = Int(frame[1])
        if start > 2 {
            guard frame[2] < 0x80 || start == 4 else { return false }
            length = (2..<start).reduce(0) { $0 << 8 | Int(frame[$1]) }
        }
        guard frame.count - start == length, frame[start] == UInt8(ascii: "{"),
            frame[frame.count - 1] == UInt8(ascii: "}")
        else { return false }
        var text = UTF8Validator()
        return text.accept(frame.extracting(start...)) && text.isComplete
    }
}

extension StoredMessage {
    /// Reads a row of `messages` whose columns from an index on are serial, time, connection and frame.
    ///
    /// - Returns: `nil` for numbers and socket IDs that no message has.
    init?(_ row: SQLiteRow, serialAt column: Int32) {
        guard let serial = UInt64(safe: row.integer(at: column) ?? -1), serial > 0,
            let time = row.integer(at: column + 1), time.magnitude <= SafeInteger.max.magnitude
        else { return nil }
        let text = row.text(at: column + 2)
        let except = text.flatMap { SocketID($0) }
        guard (text == nil) == (except == nil) else { return nil }
        self.init(serial: serial, time: time, except: except, frame: row.blob(at: column + 3))
    }
}
