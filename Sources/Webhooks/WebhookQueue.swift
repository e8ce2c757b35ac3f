internal import Glibc

/// The SQLite file where webhooks wait until they are delivered, and where those that were given up are kept.
///
/// The file survives `kill -9`: it is written ahead (WAL), and a webhook leaves it only when it has been delivered or
/// has become a dead letter. After a loss of power the last moments may be missing.
///
/// The broker opens it through ``Webhooks``; the command line beside it:
///
/// ```swift
/// let queue = try WebhookQueue(reading: "/var/lib/fanfare/webhooks.sqlite")
/// for letter in try queue.deadLetters(countMax: 20) { print(letter.id, letter.url, letter.detail) }
/// try queue.replayAll()
/// ```
///
/// Each call blocks until the disk has answered, and when another process writes, for ``busyTimeout`` at the most.
public final class WebhookQueue: Sendable {
    /// How long a call waits for another process, in seconds.
    public static let busyTimeout: Double = 5

    let database: SQLiteDatabase
    /// The files as they were when they were opened; `nil` for memory.
    let place: Place?

    /// Opens the file, or makes it, readable for its owner alone: events may be anybody's secret.
    ///
    /// - Parameter path: The file; `nil` for memory.
    /// - Throws: A ``SQLiteError`` when it cannot be opened or is something else.
    init(path: String?) throws {
        // SQLite gives the files beside it the same permissions. When this fails, opening says why.
        if let path { makePrivateFile(at: path) }
        database = try SQLiteDatabase(path: path, busyTimeout: Int32(Self.busyTimeout * 1_000))
        try WebhookQueueSchema.prepare(database, isFile: path != nil)
        place = path.map { Place(path: $0) }
    }

    /// Opens the file of a broker, which may be running.
    ///
    /// - Parameter path: The file.
    /// - Throws: ``WebhookQueueError`` when there is none, or it cannot be read.
    public convenience init(reading path: String) throws(WebhookQueueError) {
        guard access(path, F_OK) == 0 else { throw .missing(path: path) }
        do {
            try self.init(path: path)
        } catch {
            throw .failed("\(path) cannot be opened: \(error)")
        }
    }

    /// The webhooks that are not delivered yet.
    public func deliveryCount() throws(WebhookQueueError) -> Int {
        try read { Int(try $0.integer("SELECT COUNT(*) FROM deliveries") ?? 0) }
    }

    /// The webhooks that were given up.
    public func deadLetterCount() throws(WebhookQueueError) -> Int {
        try read { Int(try $0.integer("SELECT COUNT(*) FROM dead_letters") ?? 0) }
    }

    /// Lists dead letters, newest first.
    ///
    /// - Parameters:
    ///   - countMax: The most to return.
    ///   - id: Where to go on: only older ones than this are returned; `nil` begins with the newest.
    /// - Returns: The dead letters; none when there are no more.
    /// - Throws: What went wrong with the file.
    public func deadLetters(
        countMax: Int = 100,
        before id: Int64? = nil
    ) throws(WebhookQueueError) -> [DeadLetter] {
        try read { connection in
            try DeadLetter.all(
                "SELECT * FROM dead_letters WHERE id < ? ORDER BY id DESC LIMIT ?",
                [.integer(id ?? .max), .integer(Int64(countMax))],
                in: connection
            )
        }
    }

    /// Lets a dead letter be sent again, as a new webhook: with the `time_ms` of then, and a new signature.
    ///
    /// The broker that uses the file does it within seconds, or when it is started.
    ///
    /// - Parameter id: Which one.
    /// - Returns: Whether there is such a dead letter.
    /// - Throws: What went wrong with the file.
    @discardableResult
    public func replay(_ id: Int64) throws(WebhookQueueError) -> Bool {
        try change("UPDATE dead_letters SET is_replayed = 1 WHERE id = ?", [.integer(id)]) > 0
    }

    /// Lets all dead letters be sent again, oldest first.
    ///
    /// - Returns: How many.
    /// - Throws: What went wrong with the file.
    @discardableResult
    public func replayAll() throws(WebhookQueueError) -> Int {
        try change("UPDATE dead_letters SET is_replayed = 1 WHERE NOT is_replayed", [])
    }

    /// Deletes a dead letter for good.
    ///
    /// - Parameter id: Which one.
    /// - Returns: Whether there was such a dead letter.
    /// - Throws: What went wrong with the file.
    @discardableResult
    public func delete(_ id: Int64) throws(WebhookQueueError) -> Bool {
        try change("DELETE FROM dead_letters WHERE id = ?", [.integer(id)]) > 0
    }

    /// Deletes all dead letters for good, apart from those that are to be sent again.
    ///
    /// - Returns: How many.
    /// - Throws: What went wrong with the file.
    @discardableResult
    public func deleteAll() throws(WebhookQueueError) -> Int {
        try change("DELETE FROM dead_letters WHERE NOT is_replayed", [])
    }

    private func read<Value>(
        _ body: (SQLiteConnection) throws -> Value
    ) throws(WebhookQueueError) -> Value {
        do { return try database.access(body) } catch { throw .failed("\(error)") }
    }

    private func change(
        _ sql: String,
        _ arguments: [SQLiteValue]
    ) throws(WebhookQueueError) -> Int {
        do {
            return try database.write { connection in
                try connection.execute(sql, arguments)
                return connection.changeCount
            }
        } catch { throw .failed("\(error)") }
    }
}

/// The broker's side: it never waits on a thread that others need.
extension WebhookQueue {
    /// Opens a file on a thread of its own.
    static func open(path: String?) async throws -> WebhookQueue {
        try await aside { try WebhookQueue(path: path) }
    }

    /// Reads the webhooks that were not delivered.
    ///
    /// - Parameter known: The ids of those whose content is not needed.
    /// - Returns: The ids of all, and the others in the order in which they were made.
    /// - Throws: A ``SQLiteError``.
    func deliveries(
        except known: Set<Int64> = []
    ) async throws -> (ids: Set<Int64>, others: [Delivery]) {
        try await Self.aside { [database] in
            var ids: Set<Int64> = []
            var others: [Delivery] = []
            try database.access { connection in
                try connection.forEachRow("SELECT * FROM deliveries ORDER BY id") { row in
                    let id = row.integer("id")
                    ids.insert(id)
                    if !known.contains(id) { others.append(Delivery(row)) }
                }
            }
            return (ids, others)
        }
    }

    /// The highest id in use, or zero.
    func lastID() async throws -> Int64 {
        let sql = """
            SELECT MAX(id) FROM (SELECT MAX(id) AS id FROM deliveries
                UNION ALL SELECT MAX(id) FROM dead_letters)
            """
        return try await Self.aside { [database] in
            try database.access { try $0.integer(sql) ?? 0 }
        }
    }

    /// Writes changes, all or none.
    ///
    /// - Parameters:
    ///   - changes: What has happened since the last time.
    ///   - countMax: The dead letters that are kept.
    ///   - lengthMax: The length of their events, in bytes.
    /// - Throws: A ``SQLiteError``, for example of a full disk; nothing has been written then.
    func apply(_ changes: PendingWrites.Changes, countMax: Int, lengthMax: Int) async throws {
        try await Self.aside { [database] in
            try database.write { connection in
                for delivery in changes.deliveries.values { try delivery.insert(into: connection) }
                for id in changes.done {
                    try connection.execute("DELETE FROM deliveries WHERE id = ?", [.integer(id)])
                }
                for id in changes.revived {
                    try connection.execute("DELETE FROM dead_letters WHERE id = ?", [.integer(id)])
                }
                for letter in changes.deaths { try letter.insert(into: connection) }
                guard !changes.deaths.isEmpty else { return }
                // The newest are kept, as many as both limits allow.
                try connection.execute(
                    """
                    DELETE FROM dead_letters WHERE id IN (
                        SELECT id FROM (
                            SELECT id, ROW_NUMBER() OVER newest AS number,
                                SUM(LENGTH(events)) OVER newest AS length
                            FROM dead_letters WINDOW newest AS (ORDER BY id DESC))
                        WHERE number > ? OR length > ?)
                    """,
                    [.integer(Int64(countMax)), .integer(Int64(lengthMax))]
                )
            }
        }
    }

    /// Reads dead letters that are to be sent again, oldest first.
    func replays(countMax: Int) async throws -> [DeadLetter] {
        try await Self.aside { [database] in
            try database.access { connection in
                try DeadLetter.all(
                    "SELECT * FROM dead_letters WHERE is_replayed ORDER BY id LIMIT ?",
                    [.integer(Int64(countMax))],
                    in: connection
                )
            }
        }
    }
}

/// Makes an empty file that its owner alone can read, unless there is one; SQLite accepts it for a database.
func makePrivateFile(at path: String) {
    let descriptor = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
    if descriptor >= 0 { close(descriptor) }
}

/// Why the file of the webhooks could not be used.
public enum WebhookQueueError: Error, Equatable, Sendable, CustomStringConvertible {
    /// There is no file at `path`.
    case missing(path: String)
    /// SQLite refused; what it said.
    case failed(String)

    /// What is wrong, as a sentence without its full stop.
    public var description: String {
        switch self {
        case .missing(let path): "there is no file \(path): no broker has kept webhooks there"
        case .failed(let reason): reason
        }
    }
}
