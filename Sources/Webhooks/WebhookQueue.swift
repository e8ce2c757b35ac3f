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
    /// The open files' identities.
    let place: Place
    /// The lock of the broker that uses the file; `nil` for the command line, and once it is closed.
    let fileLock: Mutex<DatabaseFileLock?>

    /// Opens or creates the file, readable only by its owner, because events may be confidential.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - isOwner: Whether it is for a broker, which locks the file whatever its name is.
    /// - Throws: A ``SQLiteError`` if it cannot be opened or is not a webhook file; a ``DatabaseLockError``.
    init(path: String, isOwner: Bool = false) throws {
        // SQLite gives its other files the same permissions. If this fails, opening reports the reason.
        makePrivateFile(at: path)
        fileLock = Mutex(isOwner ? try DatabaseFileLock(path: path) : nil)
        database = try SQLiteDatabase(path: path, busyTimeout: Int32(Self.busyTimeout * 1_000))
        try WebhookQueueSchema.prepare(database)
        place = Place(path: path)
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
            var letters: [DeadLetter] = []
            try connection.forEachRow(
                "SELECT * FROM dead_letters WHERE id < ? ORDER BY id DESC LIMIT ?",
                [.integer(id ?? .max), .integer(Int64(countMax))]
            ) { row throws(SQLiteError) in
                if let letter = DeadLetter(row) { letters.append(letter) }
            }
            return letters
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

/// The broker's side.
extension WebhookQueue {
    /// What the file has for a broker.
    struct Findings: Sendable {
        /// The undelivered webhooks of others, oldest first; only of a file that was opened.
        var deliveries: [Delivery] = []
        /// The oldest dead letters marked for replay.
        var replays: [DeadLetter] = []
        /// Whether there may be more of them.
        var hasMoreReplays = false
        /// The number of damaged rows, which are deleted.
        var damagedCount = 0
        /// The highest possible ID in use, or zero; only of a file that was opened.
        var lastID: Int64 = 0
    }

    /// The maximum number of dead letters replayed at a time.
    private static let replayCountMax = 100

    /// Writes changes, and then reads what the file has, in one transaction.
    ///
    /// - Parameters:
    ///   - changes: The changes since the last call.
    ///   - settings: The limits of dead letters.
    ///   - isOpened: Whether this is the first call, which also reads the webhooks that `changes` does not have.
    /// - Returns: What the file has.
    /// - Throws: A ``SQLiteError``, for example of a full disk; nothing was written then.
    func exchange(
        _ changes: PendingWrites,
        _ settings: WebhookSettings,
        isOpened: Bool = false
    ) throws -> Findings {
        // Reading alone does not wait for other processes.
        if changes.isEmpty { return try database.access { try findings($0, isOpened: isOpened) } }
        return try database.write { connection in
            let insertion = try connection.prepare(Delivery.insertion)
            for delivery in changes.deliveries.values { try insertion.run(delivery.row) }
            for table in ["deliveries", "dead_letters"] {
                try delete(changes.removed, from: table, connection)
            }
            for letter in changes.deadLetters { try letter.insert(into: connection) }
            if !changes.deadLetters.isEmpty {
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
                    [settings.deadLetterCountMax, settings.deadLetterLengthMax]
                        .map { .integer(Int64($0)) }
                )
            }
            return try findings(connection, isOpened: isOpened, except: changes.deliveries)
        }
    }

    private func findings(
        _ connection: SQLiteConnection,
        isOpened: Bool,
        except known: [Int64: Delivery] = [:]
    ) throws(SQLiteError) -> Findings {
        var findings = Findings()
        (findings.replays, findings.damagedCount) = try rows(
            of: "dead_letters",
            "WHERE is_replayed ORDER BY id LIMIT \(Self.replayCountMax)",
            connection
        ) { DeadLetter($0) }
        findings.hasMoreReplays =
            findings.replays.count + findings.damagedCount == Self.replayCountMax
        guard isOpened else { return findings }
        let (deliveries, damagedCount) = try rows(of: "deliveries", "ORDER BY id", connection) {
            known[$0.integer("id")] ?? Delivery($0)
        }
        findings.deliveries = deliveries.filter { known[$0.id] == nil }
        findings.damagedCount += damagedCount
        let lastID = """
            SELECT MAX(id) FROM (SELECT MAX(id) AS id FROM deliveries WHERE id <= ?1
                UNION ALL SELECT MAX(id) FROM dead_letters WHERE id <= ?1)
            """
        findings.lastID = try connection.integer(lastID, [.integer(SafeInteger.max / 2)]) ?? 0
        return findings
    }

    /// Reads the rows of a query, and deletes the damaged ones; returns the others and the number of damaged ones.
    private func rows<Value>(
        of table: String,
        _ clauses: String,
        _ connection: SQLiteConnection,
        _ read: (SQLiteRow) -> Value?
    ) throws(SQLiteError) -> (values: [Value], damagedCount: Int) {
        var (values, damaged) = ([Value](), [Int64]())
        let sql = "SELECT * FROM \(table) \(clauses)"
        try connection.forEachRow(sql) { row throws(SQLiteError) in
            if let value = read(row) {
                values.append(value)
            } else {
                damaged.append(row.integer("id"))
            }
        }
        try delete(damaged, from: table, connection)
        return (values, damaged.count)
    }

    private func delete(
        _ ids: some Collection<Int64>,
        from table: String,
        _ connection: SQLiteConnection
    ) throws(SQLiteError) {
        guard !ids.isEmpty else { return }
        let deletion = try connection.prepare("DELETE FROM \(table) WHERE id = ?")
        for id in ids { try deletion.run([.integer(id)]) }
    }
}
