package import Broker
internal import Dispatch
internal import Glibc
internal import PusherProtocol
internal import SQLite

/// The file in which a stop keeps what is in memory alone, for the next start.
///
/// It has the tables of an archive. It gets its name when it is complete and on the disk, and the start that reads it
/// deletes it first: a file that a broker may have gone on from is never read again.
package struct Spool: Sendable {
    /// How long a file is of use, in milliseconds: so long is the position of a vacant channel remembered.
    static let ageMax = Streams.positionAge

    private let path: String
    private var unfinished: String { path + ".unfinished" }

    /// Creates a spool at a path.
    package init(path: String) { self.path = path }

    // MARK: - Writing

    /// Writes a state, on a thread that may block.
    ///
    /// - Parameter state: What the shards have in memory.
    /// - Throws: A ``SQLiteError``, or ``ArchiveError``.
    package func write(_ state: SpooledState) async throws {
        try await Self.onThread { try writeFile(state) }
    }

    private func writeFile(_ state: SpooledState) throws {
        remove(unfinished)
        makePrivateFile(at: unfinished)
        let connection = try SQLiteConnection(path: unfinished, busyTimeout: 0)
        do {
            defer { connection.close() }
            // Nobody reads the file before it is complete.
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
            "INSERT INTO streams VALUES (?, ?, ?, ?, 1, 0, ?, NULL, NULL, 0, 0, 0, 0)"
        )
        let insertMessage = try connection.prepare("INSERT INTO messages VALUES (?, ?, ?, ?, ?)")
        let insertKey = try connection.prepare("INSERT INTO keys VALUES (?, ?, ?, ?, ?)")
        var rows: [ChannelAddress: Int64] = [:]
        func add(_ address: ChannelAddress, _ id: StreamID?, last: UInt64) throws -> Int64 {
            let row = Int64(rows.count + 1)
            rows[address] = row
            try insertStream.run([
                .integer(row), .text(address.app.text), .text(address.name.text),
                .text(id?.text ?? ""), .integer(Int64(last)),
            ])
            return row
        }
        for stream in state.streams {
            let row = try add(stream.address, stream.id, last: stream.lastSerial)
            for message in stream.messages {
                try insertMessage.run([
                    .integer(row), .integer(Int64(message.serial)), .integer(message.time),
                    message.except.map { .text($0.description) } ?? .null, .blob(message.frame),
                ])
            }
        }
        for spooled in state.keys {
            let row = try rows[spooled.address] ?? add(spooled.address, nil, last: 0)
            try insertKey.run([
                .integer(row), .text(spooled.key.key.text),
                .integer(Int64(spooled.position?.serial ?? 0)),
                .integer(Int64(bitPattern: spooled.key.digest)), .integer(spooled.key.expiry),
            ])
        }
        try SessionRows(connection: connection).writeAll(state.sessions)
        try connection.execute(
            "UPDATE life SET last = ?",
            [.integer(Clock.unixMilliseconds)]
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

    private func takeFile() throws -> SpooledState {
        remove(unfinished)
        let taken = path + ".taken"
        remove(taken)
        guard rename(path, taken) == 0 else {
            guard errno == ENOENT else { throw failure("cannot be renamed") }
            return SpooledState()
        }
        defer { remove(taken) }
        // From here on no start finds it, also behind a loss of power: this one may publish.
        try sync(folder)
        let connection = try SQLiteConnection(path: taken, busyTimeout: 0)
        defer { connection.close() }
        try ArchiveSchema.prepare(connection)
        let now = Clock.unixMilliseconds
        let written = try connection.integer("SELECT last FROM life") ?? 0
        guard (now - Self.ageMax...now + 120_000).contains(written) else { return SpooledState() }
        return try read(connection, at: now)
    }

    private func read(_ connection: SQLiteConnection, at now: Int64) throws -> SpooledState {
        var state = SpooledState()
        let hasAllSessions = try connection.integer("SELECT has_all_sessions FROM life") == 1
        state.sessions = try SessionRows(connection: connection).read(isComplete: hasAllSessions)
        var places: [Int64: (address: ChannelAddress, id: StreamID?)] = [:]
        var messages: [Int64: [StoredMessage]] = [:]
        try connection.forEachRow("SELECT * FROM messages ORDER BY stream, serial") {
            row throws(SQLiteError) in
            messages[row.integer("stream"), default: []]
                .append(
                    StoredMessage(
                        serial: UInt64(row.integer("serial")),
                        time: row.integer("time_ms"),
                        except: row.text(at: 3).flatMap { SocketID($0) },
                        frame: row.blob("frame")
                    )
                )
        }
        try connection.forEachRow("SELECT * FROM streams") { row throws(SQLiteError) in
            guard
                let name = try? ChannelName(row.text("channel"), limits: ArchiveFile.names)
            else { return }
            let (number, id) = (row.integer("id"), StreamID(row.text("stream")))
            let address = ChannelAddress(app: AppID(row.text("app")), name: name)
            places[number] = (address, id)
            guard let id else { return }
            state.streams.append(
                SpooledStream(
                    address,
                    id,
                    lastSerial: UInt64(row.integer("last")),
                    messages: messages.removeValue(forKey: number) ?? []
                )
            )
        }
        try connection.forEachRow(
            "SELECT * FROM keys WHERE expiry_ms > ? ORDER BY expiry_ms",
            [.integer(now)]
        ) { row throws(SQLiteError) in
            guard let key = IdempotencyKey(row.text("key")),
                let (address, id) = places[row.integer("stream")]
            else { return }
            let (serial, digest) = (UInt64(row.integer("serial")), row.integer("digest"))
            state.keys.append(
                SpooledKey(
                    address: address,
                    key: StoredKey(
                        key,
                        digest: UInt64(bitPattern: digest),
                        expiry: row.integer("expiry_ms")
                    ),
                    position: id.flatMap {
                        serial == 0 ? nil : ChannelPosition(stream: $0, serial: serial)
                    }
                )
            )
        }
        return state
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

    private func failure(_ problem: String) -> ArchiveError {
        .failed("\(path) \(problem): \(String(cString: strerror(errno)))")
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
