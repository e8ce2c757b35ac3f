internal import Glibc
internal import Primitives
internal import SQLite
internal import Synchronization

/// The SQLite file of undelivered webhooks and dead letters.
///
/// The file survives `kill -9` because it uses a write-ahead log (WAL). A webhook is removed only when it has been
/// delivered or has become a dead letter. A loss of power may lose the last moments.
///
/// The broker opens it through ``Webhooks``; the command line opens it at the same time:
///
/// ```swift
/// let queue = try WebhookQueue(reading: "/var/lib/fanfare/webhooks.sqlite")
/// for letter in try queue.deadLetters(countMax: 20) { print(letter.id, letter.url, letter.detail) }
/// try queue.replayAll()
/// ```
///
/// Each call blocks until the disk has answered. While another process writes, the call waits for at most
/// ``busyTimeout``.
public final class WebhookQueue: Sendable {
    /// The time for which a call waits for another process, in seconds.
    public static let busyTimeout: Double = 5

    let database: SQLiteDatabase
    /// The open files' identities; `nil` for memory.
    let place: Place?
    /// The lock of the broker that uses the file; `nil` for the command line, and once it is closed.
    let fileLock: Mutex<DatabaseFileLock?>

    /// Opens or creates the file, readable only by its owner, because events may be confidential.
    ///
    /// - Parameters:
    ///   - path: The file; `nil` for memory.
    ///   - isOwner: Whether it is for a broker, which locks the file whatever its name is.
    /// - Throws: A ``SQLiteError`` if it cannot be opened or is not a webhook file; a ``DatabaseLockError``.
    init(path: String?, isOwner: Bool = false) throws {
        // SQLite gives its other files the same permissions. If this fails, opening reports the reason.
        if let path { makePrivateFile(at: path) }
        let lock = isOwner ? try path.map { try DatabaseFileLock(path: $0) } : nil
        fileLock = Mutex(lock)
        database = try SQLiteDatabase(path: path, busyTimeout: Int32(Self.busyTimeout * 1_000))
        try WebhookQueueSchema.prepare(database, isFile: path != nil)
        place = path.map { Place(path: $0) }
    }

    /// Opens the file of a broker, which may be running.
    ///
    /// - Parameter path: The file.
    /// - Throws: ``WebhookQueueError`` if there is no file, or it cannot be read.
    public convenience init(reading path: String) throws(WebhookQueueError) {
        guard access(path, F_OK) == 0 else { throw .missing(path: path) }
        do {
            try self.init(path: path)
        } catch {
            throw .failed("\(path) cannot be opened: \(error)")
        }
    }

    /// The number of webhooks that are not delivered yet.
    public func deliveryCount() throws(WebhookQueueError) -> Int {
        try read { Int(try $0.integer("SELECT COUNT(*) FROM deliveries") ?? 0) }
    }

    /// The number of dead letters.
    public func deadLetterCount() throws(WebhookQueueError) -> Int {
        try read { Int(try $0.integer("SELECT COUNT(*) FROM dead_letters") ?? 0) }
    }

    /// Returns dead letters, newest first.
    ///
    /// - Parameters:
    ///   - countMax: The maximum number.
    ///   - id: Only older ones than this are returned; `nil` begins with the newest.
    /// - Returns: The dead letters; none when there are no more.
    /// - Throws: The file's error.
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

    /// Marks a dead letter for replay, as a new webhook with a new `time_ms` and signature.
    ///
    /// The broker that uses the file replays it within seconds, or when it is started.
    ///
    /// - Parameter id: The dead letter's ID.
    /// - Returns: Whether there is such a dead letter.
    /// - Throws: The file's error.
    @discardableResult
    public func replay(_ id: Int64) throws(WebhookQueueError) -> Bool {
        try change("UPDATE dead_letters SET is_replayed = 1 WHERE id = ?", [.integer(id)]) > 0
    }

    /// Marks all dead letters for replay, oldest first.
    ///
    /// - Returns: Their number.
    /// - Throws: The file's error.
    @discardableResult
    public func replayAll() throws(WebhookQueueError) -> Int {
        try change("UPDATE dead_letters SET is_replayed = 1 WHERE NOT is_replayed", [])
    }

    /// Deletes a dead letter.
    ///
    /// - Parameter id: The dead letter's ID.
    /// - Returns: Whether there was such a dead letter.
    /// - Throws: The file's error.
    @discardableResult
    public func delete(_ id: Int64) throws(WebhookQueueError) -> Bool {
        try change("DELETE FROM dead_letters WHERE id = ?", [.integer(id)]) > 0
    }

    /// Deletes all dead letters, apart from those marked for replay.
    ///
    /// - Returns: Their number.
    /// - Throws: The file's error.
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

/// The broker's side, which never blocks a thread of the concurrency runtime.
extension WebhookQueue {
    /// Opens a file on a separate thread.
    static func open(path: String?) async throws -> WebhookQueue {
        try await onDiskThread { try WebhookQueue(path: path, isOwner: true) }
    }

    /// Reads the undelivered webhooks.
    ///
    /// - Parameter known: The IDs of those whose content is not needed.
    /// - Returns: The IDs of all; the others in the order of their creation; and the number of damaged ones, which are
    ///   deleted.
    /// - Throws: A ``SQLiteError``.
    func deliveries(
        except known: Set<Int64> = []
    ) async throws -> (ids: Set<Int64>, others: [Delivery], damagedCount: Int) {
        try await Self.onDiskThread { [database] in
            var ids: Set<Int64> = []
            var (others, damaged) = ([Delivery](), [Int64]())
            try database.access { connection in
                try connection.forEachRow("SELECT * FROM deliveries ORDER BY id") { row in
                    let id = row.integer("id")
                    if known.contains(id) {
                        ids.insert(id)
                    } else if let delivery = Delivery(row) {
                        ids.insert(id)
                        others.append(delivery)
                    } else {
                        damaged.append(id)
                    }
                }
                for id in damaged {
                    try connection.execute("DELETE FROM deliveries WHERE id = ?", [.integer(id)])
                }
            }
            return (ids, others, damaged.count)
        }
    }

    /// The highest possible ID in use, or zero.
    func lastID() async throws -> Int64 {
        let sql = """
            SELECT MAX(id) FROM (SELECT MAX(id) AS id FROM deliveries WHERE id <= ?1
                UNION ALL SELECT MAX(id) FROM dead_letters WHERE id <= ?1)
            """
        return try await Self.onDiskThread { [database] in
            try database.access { try $0.integer(sql, [.integer(SafeInteger.max / 2)]) ?? 0 }
        }
    }

    /// Writes changes in one transaction.
    ///
    /// - Parameters:
    ///   - changes: The changes since the last call.
    ///   - countMax: The maximum number of dead letters.
    ///   - lengthMax: The maximum length of their events, in bytes.
    /// - Throws: A ``SQLiteError``, for example of a full disk; nothing was written then.
    func apply(_ changes: PendingWrites.Changes, countMax: Int, lengthMax: Int) async throws {
        try await Self.onDiskThread { [database] in
            try database.write { connection in
                for delivery in changes.deliveries.values { try delivery.insert(into: connection) }
                for id in changes.done {
                    try connection.execute("DELETE FROM deliveries WHERE id = ?", [.integer(id)])
                }
                for id in changes.replayed {
                    try connection.execute("DELETE FROM dead_letters WHERE id = ?", [.integer(id)])
                }
                for letter in changes.deadLetters { try letter.insert(into: connection) }
                guard !changes.deadLetters.isEmpty else { return }
                // Keeps the newest, as many as both limits allow.
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

    /// Reads the dead letters marked for replay, oldest first.
    ///
    /// - Parameter countMax: The maximum number, including damaged ones.
    /// - Returns: The dead letters, and the IDs of damaged ones, which have to be deleted.
    /// - Throws: A ``SQLiteError``.
    func replays(countMax: Int) async throws -> (letters: [DeadLetter], damaged: [Int64]) {
        try await Self.onDiskThread { [database] in
            var (letters, damaged) = ([DeadLetter](), [Int64]())
            try database.access { connection in
                try connection.forEachRow(
                    "SELECT * FROM dead_letters WHERE is_replayed ORDER BY id LIMIT ?",
                    [.integer(Int64(countMax))]
                ) { row in
                    if let letter = DeadLetter(row) {
                        letters.append(letter)
                    } else {
                        damaged.append(row.integer("id"))
                    }
                }
            }
            return (letters, damaged)
        }
    }
}
