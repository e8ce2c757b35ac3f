package import Broker
internal import Dispatch
internal import Glibc
package import Logging
internal import Primitives
internal import PusherProtocol
internal import SQLite

/// The file in which a stop stores the state that is only in memory, for the next start.
///
/// It has the tables of an archive. It gets its name when it is complete and on the disk. The start that reads it
/// deletes it first, so that no later start reads a file from which a broker may have continued.
package struct Spool: Sendable {
    /// How long a file is usable, in milliseconds; the position of a vacant channel is remembered for the same time.
    static let ageMax = Streams.positionAge

    private let path: String
    private let log: Logger?
    private let bootID: String
    private let clocks: @Sendable () -> ClockReading
    private var unfinished: String { path + ".unfinished" }

    /// Creates a spool at a path; the log receives reports of what is refused.
    package init(
        path: String,
        log: Logger? = nil,
        bootID: String = BootID.current,
        clocks: @escaping @Sendable () -> ClockReading = { .now }
    ) {
        (self.path, self.log, self.bootID, self.clocks) = (path, log, bootID, clocks)
    }

    // MARK: - Writing

    /// Writes the shards' state that is only in memory, on a thread that may block.
    ///
    /// - Throws: A ``SQLiteError``, or ``ArchiveError``.
    package func write(_ state: SpooledState) async throws {
        try await Self.onThread { try writeFile(state) }
    }

    /// Writes a state on the calling thread, as ``write(_:)`` does.
    package func writeFile(_ state: SpooledState) throws {
        remove(unfinished)
        makePrivateFile(at: unfinished)
        let connection = try SQLiteConnection(path: unfinished, busyTimeout: 0)
        do {
            defer { connection.close() }
            // The file is not read before it is complete.
            try connection.execute("PRAGMA journal_mode = OFF")
            try connection.execute("PRAGMA synchronous = OFF")
            try ArchiveSchema.prepare(connection)
            try connection.transaction { try insert(state, into: connection) }
        }
        try sync(unfinished)
        guard rename(unfinished, path) == 0 else { throw failure("cannot be renamed") }
        try sync(folder)
    }

    private func insert(_ state: SpooledState, into connection: SQLiteConnection) throws {
        let insertStream = try connection.prepare(
            "INSERT INTO streams VALUES (?, ?, ?, ?, 1, 0, ?, NULL, NULL, 0, 0, 0, 0, ?, ?)"
        )
        let insertMessage = try connection.prepare("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?)")
        let insertKey = try connection.prepare("INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?)")
        var rows: [ChannelAddress: Int64] = [:]
        func add(_ address: ChannelAddress, _ id: StreamID?, last: UInt64) throws -> Int64 {
            let row = Int64(rows.count + 1)
            rows[address] = row
            let (app, channel, text) = (address.app.text, address.name.text, id?.text ?? "")
            try insertStream.run([
                .integer(row), .text(app), .text(channel), .text(text), .integer(Int64(last)),
                .integer(
                    RowChecksum.stream(row: row, life: 1, app: app, channel: channel, text)
                ), .integer(RowChecksum.end(row: row, last: Int64(last))),
            ])
            return row
        }
        for stream in state.streams {
            let row = try add(stream.address, stream.id, last: stream.lastSerial)
            for message in stream.messages {
                try insertMessage.run([
                    .integer(row), .integer(Int64(message.serial)), .integer(message.time),
                    message.except.map { .text($0.description) } ?? .null,
                    .blob(message.envelope.text),
                    .integer(RowChecksum.message(row: row, message)),
                ])
            }
        }
        for spooled in state.keys {
            let row = try rows[spooled.address] ?? add(spooled.address, nil, last: 0)
            let (text, serial) = (spooled.key.key.text, Int64(spooled.position?.serial ?? 0))
            let (digest, expiry) = (Int64(bitPattern: spooled.key.digest), spooled.key.expiry)
            try insertKey.run([
                .integer(row), .text(text), .integer(serial), .integer(digest), .integer(expiry),
                .integer(
                    RowChecksum.key(row: row, serial: serial, digest: digest, expiry: expiry, text)
                ),
            ])
        }
        try SessionRows(connection: connection).writeAll(state.sessions)
        let now = clocks()
        try connection.execute(
            "UPDATE life SET last = ?1, calendar_ms = ?1, uptime_ms = ?2, boot_id = ?3, crc = ?4",
            [
                .integer(now.calendar), .integer(now.uptime), .text(bootID),
                .integer(RowChecksum.numbers(now.calendar, now.uptime)),
            ]
        )
    }

    // MARK: - Reading

    /// Reads and deletes the file of the last stop, on a thread that may block.
    ///
    /// - Returns: The state; empty if there is no complete file, or an old one.
    /// - Throws: A ``SQLiteError``, or ``ArchiveError``; the file is deleted all the same.
    package func take() async throws -> SpooledState {
        try await Self.onThread { try takeFile() }
    }

    /// Reads and deletes the file on the calling thread, as ``take()`` does.
    package func takeFile() throws -> SpooledState {
        remove(unfinished)
        let taken = path + ".taken"
        remove(taken)
        guard rename(path, taken) == 0 else {
            guard errno == ENOENT else { throw failure("cannot be renamed") }
            return SpooledState()
        }
        defer { remove(taken) }
        // No later start finds it, even after a loss of power, because this one may publish.
        try sync(folder)
        let connection = try SQLiteConnection(path: taken, busyTimeout: 0)
        defer { connection.close() }
        try check(connection)
        try ArchiveSchema.prepare(connection)
        guard let (now, skew) = try age(connection) else { return SpooledState() }
        return try read(connection, at: now, skew: skew)
    }

    /// Checks the structure of all pages, because a lost page would be an unnoticed gap.
    private func check(_ connection: SQLiteConnection) throws {
        var verdict = ""
        try connection.forEachRow("PRAGMA quick_check(1)") { row throws(SQLiteError) in
            verdict = row.text(at: 0) ?? ""
        }
        guard verdict == "ok" else { throw failure("is malformed: \(verdict)", code: nil) }
    }

    /// The present time by the clock of the last stop, and the milliseconds to subtract from its times for the
    /// calendar's.
    ///
    /// `nil` if the file is too old.
    private func age(_ connection: SQLiteConnection) throws -> (now: Int64, skew: Int64)? {
        var (then, boot, sum) = (ClockReading(calendar: 0, uptime: 0), "", Int64(0))
        try connection.forEachRow("SELECT last, uptime_ms, boot_id, crc FROM life") {
            row throws(SQLiteError) in
            then = ClockReading(calendar: row.integer("last"), uptime: row.integer("uptime_ms"))
            (boot, sum) = (row.text("boot_id"), row.integer("crc"))
        }
        // A file of an earlier version has no uptime, and has the checksum that a migration gives to a first life.
        let isWhole =
            sum == RowChecksum.numbers(then.calendar, then.uptime)
            || then.uptime == 0 && sum == RowChecksum.numbers(1, 0)
        guard isWhole, UInt64(safe: then.calendar) != nil else {
            throw failure("is damaged: its time is unknown", code: nil)
        }
        let now = clocks()
        let elapsed = now.elapsed(since: then, isSameBoot: !boot.isEmpty && boot == bootID)
        var skew = then.calendar &+ elapsed &- now.calendar
        if skew.magnitude <= ArchiveClock.tolerance { skew = 0 }
        if skew != 0 {
            log?.warning(
                "the system clock was set between stop and start: the spool's age ignores that",
                metadata: [
                    "path": "\(path)", "written": "\(then.calendar)", "now": "\(now.calendar)",
                    "skew_ms": "\(-skew)",
                ]
            )
        }
        guard elapsed <= Self.ageMax else {
            log?.warning(
                "the spool of the last stop is too old: streams start over, sessions are unknown",
                metadata: [
                    "path": "\(path)", "written": "\(then.calendar)", "now": "\(now.calendar)",
                ]
            )
            return nil
        }
        return (now.calendar &+ skew, skew)
    }

    private func read(
        _ connection: SQLiteConnection,
        at now: Int64,
        skew: Int64
    ) throws -> SpooledState {
        var state = SpooledState()
        let sessions = SessionRows(connection: connection, skew: skew)
        let sum = try connection.integer("SELECT sessions_crc FROM life WHERE has_all_sessions = 1")
        state.sessions = try sessions.read(isComplete: sum == sessions.checksum())
        var refusedCount = 0
        var (messages, damaged) = try readMessages(connection, skew: skew)
        var places: [Int64: (address: ChannelAddress, id: StreamID?)] = [:]
        try connection.forEachRow(
            "SELECT id, life, app, channel, stream, last, crc, end_crc FROM streams"
        ) {
            row throws(SQLiteError) in
            let (number, last) = (row.integer("id"), row.integer("last"))
            let (app, channel, text) = (row.text("app"), row.text("channel"), row.text("stream"))
            let sum = RowChecksum.stream(
                row: number,
                life: row.integer("life"),
                app: app,
                channel: channel,
                text
            )
            guard sum == row.integer("crc"),
                RowChecksum.end(row: number, last: last) == row.integer("end_crc"),
                let lastSerial = UInt64(safe: last),
                let name = try? ChannelName(channel, limits: .stored)
            else {
                refusedCount += 1
                return
            }
            let (id, address) = (StreamID(text), ChannelAddress(app: AppID(app), name: name))
            places[number] = (address, id)
            let kept = messages.removeValue(forKey: number) ?? []
            let isWhole =
                !damaged.contains(number)
                && (kept.isEmpty || kept[kept.count - 1].serial == lastSerial)
                && zip(kept, kept.dropFirst()).allSatisfy { $0.serial + 1 == $1.serial }
            guard isWhole else {
                refusedCount += 1
                return
            }
            guard let id else { return }
            state.streams.append(
                SpooledStream(address, id, lastSerial: lastSerial, messages: kept)
            )
        }
        try connection.forEachRow(
            """
            SELECT stream, key, serial, digest, expiry_ms, crc FROM keys WHERE expiry_ms > ? ORDER BY expiry_ms
            """,
            [.integer(now)]
        ) { row throws(SQLiteError) in
            guard let (stream, serial, key) = ArchiveFile.key(row, skew: skew),
                let (address, id) = places[stream]
            else {
                refusedCount += 1
                return
            }
            let position = id.flatMap {
                serial == 0 ? nil : ChannelPosition(stream: $0, serial: serial)
            }
            state.keys.append(SpooledKey(address: address, key: key, position: position))
        }
        report(refusedCount + messages.count)
        return state
    }

    /// The messages by stream, and the streams with damaged messages.
    private func readMessages(
        _ connection: SQLiteConnection,
        skew: Int64
    ) throws -> (messages: [Int64: [StoredMessage]], damaged: Set<Int64>) {
        var messages: [Int64: [StoredMessage]] = [:]
        var damaged: Set<Int64> = []
        try connection.forEachRow(
            """
            SELECT stream, serial, time_ms, except_socket, text, crc FROM messages ORDER BY stream, serial
            """
        ) { row throws(SQLiteError) in
            let stream = row.integer("stream")
            guard var message = StoredMessage(row, serialAt: 1),
                row.integer("crc") == RowChecksum.message(row: stream, message)
            else {
                damaged.insert(stream)
                return
            }
            message.time &-= skew
            messages[stream, default: []].append(message)
        }
        return (messages, damaged)
    }

    private func report(_ refusedCount: Int) {
        guard refusedCount > 0 else { return }
        log?.error(
            "the spool of the last stop is damaged: the affected streams and keys start over",
            metadata: ["path": "\(path)", "count": "\(refusedCount)"]
        )
    }

    // MARK: - Files

    private var folder: String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private func sync(_ path: String) throws(ArchiveError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("cannot be opened") }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw failure("cannot be synced") }
    }

    private func remove(_ path: String) { _ = unlink(path) }

    private func failure(_ problem: String) -> ArchiveError { failure(problem, code: errno) }

    private func failure(_ problem: String, code: Int32?) -> ArchiveError {
        .failed("\(path) \(problem)" + (code.map { ": \(String(cString: strerror($0)))" } ?? ""))
    }

    private static func onThread<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "fanfare.spool").async {
                continuation.resume(with: Result { try body() })
            }
        }
    }
}
