import Archive
import Broker
import FuzzTargets
import Glibc
import PusherProtocol
import SQLite

/// The file of stored channels and the spool, whose rows an input changes, and the writer without its thread.
///
/// As ``Archive/Archive`` does, it begins a malformed file anew. Any other failure to open one is a finding: every start
/// would fail.
final class FuzzedFile: MessageArchive {
    /// A change of one column, in one row or in all.
    struct Edit {
        /// Which of the columns, counted over all tables.
        var column: Int
        /// The row, in the order of the table; from 254 on all rows, and at 253 the first is deleted.
        var row: Int
        var value: SQLiteValue
        /// Whether bytes become text, even if they are no UTF-8.
        var isText = false
    }

    private let clocks: @Sendable () -> ClockReading
    // SAFETY: the whole shard has one thread.
    private nonisolated(unsafe) let folder: FileFolder
    private nonisolated(unsafe) var file: ArchiveFile?
    private nonisolated(unsafe) var writer: ArchiveWriter?
    private nonisolated(unsafe) var requests: [ArchiveRequest] = []
    private nonisolated(unsafe) var byteCount = 0

    private var path: String { folder.path + "/history.sqlite" }
    private var spool: Spool {
        Spool(path: folder.path + "/spool", bootID: "boot", clocks: clocks)
    }

    /// Creates a file with two streams, keys and sessions, which is not open.
    init(clocks: @escaping @Sendable () -> ClockReading) throws {
        self.clocks = clocks
        folder = try FileFolder()
        for (suffix, bytes) in try Self.template.get() {
            try folder.write(bytes, to: path + suffix)
        }
    }

    // MARK: - Runs

    private var settings: ArchiveFile.Settings {
        var settings = ArchiveFile.Settings(path: path, bootID: "boot")
        settings.clocks = clocks
        return settings
    }

    /// Opens the file, as a start does.
    ///
    /// - Returns: What it contains, and what is in the spool.
    /// - Throws: The finding that it cannot be opened.
    func open() throws(Finding) -> (contents: ArchiveContents, spooled: SpooledState) {
        // A spool that cannot be read is lost, and deleted.
        let spooled = (try? spool.takeFile()) ?? SpooledState()
        do {
            return (try openFile(), spooled)
        } catch let error as SQLiteError where error.isDamage {
            folder.removeAll()
            do { return (try openFile(), spooled) } catch { throw Self.finding(error) }
        } catch { throw Self.finding(error) }
    }

    private static func finding(_ error: any Error) -> Finding {
        Finding(description: "the file cannot be opened: \(error)")
    }

    private func openFile() throws -> ArchiveContents {
        let file = try ArchiveFile(settings)
        let contents = try file.contents(at: file.time)
        writer = try ArchiveWriter(file, shardCount: 1)
        self.file = file
        return contents
    }

    /// Ends a run, as a stop or `kill -9` does.
    ///
    /// - Parameter state: What a stop keeps; `nil` for none.
    func close(keeping state: (sessions: StoredSessions, spooled: SpooledState)?) {
        if let state {
            serve(at: 0) { _ in }
            try? file?.close(keeping: state.sessions)
            try? spool.writeFile(state.spooled)
        }
        (file, writer, requests, byteCount) = (nil, nil, [], 0)
    }

    // MARK: - Rows

    /// Changes rows of the file, which may be open.
    func edit(_ edits: [Edit]) { edit(edits, path) }

    /// Changes rows of the spool, if there is one.
    func editSpool(_ edits: [Edit]) {
        let path = folder.path + "/spool"
        if access(path, F_OK) == 0 { edit(edits, path) }
    }

    private func edit(_ edits: [Edit], _ path: String) {
        guard !edits.isEmpty, let connection = try? SQLiteConnection(path: path, busyTimeout: 0)
        else { return }
        defer { connection.close() }
        for edit in edits {
            let column = FileColumns.all[edit.column % FileColumns.all.count]
            try? connection.execute(column.statement(edit), [edit.value])
        }
    }

    /// Makes the closed file one of the second version, which the next start gives checksums of its rows as they are.
    func makeFormer() {
        guard let connection = try? SQLiteConnection(path: path, busyTimeout: 0) else { return }
        defer { connection.close() }
        for statement in FileColumns.downgrade { try? connection.execute(statement) }
        var frames: [[SQLiteValue]] = []
        try? connection.forEachRow("SELECT frame, stream, serial FROM messages") { row in
            let place = (1...2).map { row.integer(at: $0).map { .integer($0) } ?? SQLiteValue.null }
            frames.append([.blob(Envelope(text: row.blob(at: 0)).frame[...])] + place)
        }
        for values in frames {
            try? connection.execute(
                "UPDATE messages SET frame = ? WHERE stream = ? AND serial = ?",
                values
            )
        }
        folder.remove(path + "-mark")
    }

    // MARK: - The archive

    var isFailing: Bool { writer?.isRefusing ?? true }

    var unstoredByteCount: Int { byteCount }

    func addUnstored(_ byteCount: Int) { self.byteCount += byteCount }

    func post(_ request: ArchiveRequest) { requests.append(request) }

    /// Writes and reads what was posted.
    ///
    /// - Parameters:
    ///   - now: The time, in milliseconds of a steady clock.
    ///   - send: Takes the replies.
    /// - Returns: Whether there were any.
    @discardableResult
    func serve(at now: Int64, _ send: (ArchiveReply) -> Void) -> Bool {
        guard let writer else { return false }
        var replies =
            requests.isEmpty && writer.nextDue == nil
            ? writer.read() : writer.perform(exchange(&requests, with: []), at: now)
        let errors = [writer.error, writer.readError].map { $0 as? SQLiteError }
        if errors[0]?.isDamage == true || errors[1]?.isMalformed == true {
            folder.removeAll()
            if let new = try? ArchiveFile(settings), let renewed = try? writer.replaceStorage(new) {
                file = new
                replies += renewed
            }
        }
        for (_, reply) in replies { send(reply) }
        return !replies.isEmpty
    }

    /// Deletes rows that are too old, as the timer does.
    func expire() {
        guard let file else { return }
        file.updateClock()
        for _ in 0..<20 where (try? file.removeExpired(at: file.time)) == true {}
        _ = file.takeDamage()
    }
}

// MARK: - The first content

extension FuzzedFile {
    /// The bytes of a file and its mark, which all inputs begin with.
    private static let template = Result { try makeTemplate() }

    private static func makeTemplate() throws -> [String: [UInt8]] {
        let folder = try FileFolder()
        let path = folder.path + "/history.sqlite"
        let time = FuzzedShard.startTime * 1_000
        var settings = ArchiveFile.Settings(path: path, bootID: "boot")
        settings.clocks = { ClockReading(calendar: time, uptime: 0) }
        let file = try ArchiveFile(settings)
        var changes: [ArchiveChange] = []
        for (row, channel) in [(Int64(1), "a"), (2, "cache-a")] {
            let name = try ChannelName(channel)
            let stream = StoredStream(
                row: row,
                ChannelAddress(app: AppID("1"), name: name),
                StreamID(bits: UInt64(row)),
                lastSerial: 0,
                StoredStream.Limits(RecoveryRule())
            )
            changes.append(.open(stream))
            let text = Array(#"{"event":"e","channel":"\#(channel)","data":"1"}"#.utf8)
            for serial in UInt64(1)...4 {
                let message = StoredMessage(
                    serial: serial,
                    time: time,
                    except: serial == 2 ? SocketID(1, 2) : nil,
                    envelope: Envelope(text: text)
                )
                let key = IdempotencyKey("k\(serial)").map {
                    StoredKey($0, digest: 7, expiry: time + 600_000)
                }
                changes.append(.message(row: row, message, key))
            }
        }
        try file.perform(changes, number: try file.lastTransaction() + 1, isDurable: false)
        try file.close(keeping: try sessions(at: time))
        return try ["", "-mark"].reduce(into: [:]) { $0[$1] = try folder.read(path + $1) }
    }

    private static func sessions(at time: Int64) throws -> StoredSessions {
        let cursor = SessionCursor(
            try ChannelName("a"),
            ChannelPosition(stream: StreamID(bits: 1), serial: 2)
        )
        let sessions = (UInt64(1)...2).map {
            StoredSession(
                SessionAddress(app: AppID("1"), key: SessionKey(high: $0, low: $0)),
                parkedAt: $0 == 1 ? nil : time,
                [cursor],
                socketIDs: [SocketID(1, $0)]
            )
        }
        return StoredSessions(
            sessions,
            isComplete: true,
            unknownBefore: time,
            evictions: [AppID("1"): time]
        )
    }
}
