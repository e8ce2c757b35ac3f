internal import Broker
internal import Primitives
internal import PusherProtocol
internal import SQLite

/// Converts the rows of a file of an earlier version, within the transaction that changes its tables.
///
/// Version 3 added checksums, and version 4 has texts in place of frames. A row that was damaged before would get a
/// checksum of its damage. Rows that other checks find damaged get none.
struct ArchiveMigration {
    let connection: SQLiteConnection
    /// The number of messages that are read at a time.
    private static var portion: Int64 { 500 }

    func run(from version: Int64) throws {
        try convertMessages(haveChecksums: version >= 3)
        guard version < 3 else { return }
        try addToKeys()
        try addToStreams()
        try addToSessions()
    }

    private func convertMessages(haveChecksums: Bool) throws {
        let read = try connection.prepare(
            """
            SELECT stream, serial, time_ms, except_socket, text, crc FROM messages
            WHERE (stream, serial) > (?, ?) ORDER BY stream, serial LIMIT ?
            """
        )
        let write = try connection.prepare(
            "UPDATE messages SET text = ?, crc = ? WHERE stream = ? AND serial = ?"
        )
        var place = (row: Int64.min, serial: Int64.min)
        while true {
            var rows: [(text: ArraySlice<UInt8>, sum: Int64, row: Int64, serial: Int64)] = []
            try read.forEachRow([
                .integer(place.row), .integer(place.serial), .integer(Self.portion),
            ]) { row throws(SQLiteError) in
                place = (row.integer(at: 0) ?? 0, row.integer(at: 1) ?? 0)
                let frame = row.blob(at: 4)
                var (text, sum) = (frame[...], RowChecksum.none)
                if let envelope = Self.envelope(of: frame),
                    var message = StoredMessage(row, serialAt: 1)
                {
                    let isIntact =
                        !haveChecksums
                        || row.integer(at: 5) == RowChecksum.message(row: place.row, message)
                    (text, message.envelope) = (envelope.text, envelope)
                    if isIntact { sum = RowChecksum.message(row: place.row, message) }
                }
                rows.append((text, sum, place.row, place.serial))
            }
            for (text, sum, row, serial) in rows {
                try write.run([.blob(text), .integer(sum), .integer(row), .integer(serial)])
            }
            guard rows.count == Int(Self.portion) else { break }
        }
        try connection.execute(
            """
            UPDATE streams SET bytes =
                (SELECT COALESCE(SUM(LENGTH(text)), 0) FROM messages WHERE stream = streams.id)
            """
        )
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
                [.integer(sum), .text(app), .blob(key[...])]
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

    /// The envelope of a frame that is one whole unmasked text message (RFC 6455 §5.2) of UTF-8, in the braces of a JSON
    /// object; `nil` for any other.
    private static func envelope(of frame: [UInt8]) -> Envelope? {
        guard frame.count >= 2 else { return nil }
        let start = frame[1] == 126 ? 4 : frame[1] == 127 ? 10 : 2
        guard frame.count >= start + 2 else { return nil }
        let text = frame.span.extracting(start...)
        let envelope = Envelope(text: text)
        var validator = UTF8Validator()
        guard envelope.frame == frame, text[0] == UInt8(ascii: "{"),
            text[text.count - 1] == UInt8(ascii: "}"), validator.accept(text),
            validator.isComplete
        else { return nil }
        return envelope
    }
}

extension StoredMessage {
    /// Reads a row of `messages` whose columns from an index on are serial, time, connection and text.
    ///
    /// - Returns: `nil` for numbers and socket IDs that no message has.
    init?(_ row: SQLiteRow, serialAt column: Int32) {
        guard let serial = UInt64(safe: row.integer(at: column) ?? -1), serial > 0,
            let time = row.integer(at: column + 1), time.magnitude <= SafeInteger.max.magnitude
        else { return nil }
        let text = row.text(at: column + 2)
        let except = text.flatMap { SocketID($0) }
        guard (text == nil) == (except == nil) else { return nil }
        let envelope = row.withBlob(at: column + 3) { Envelope(text: $0) }
        self.init(serial: serial, time: time, except: except, envelope: envelope)
    }
}
