internal import Foundation
internal import GRDB

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

    let database: DatabaseQueue
    /// The files as they were when they were opened; `nil` for memory.
    let place: Place?

    /// Opens the file, or makes it, readable for its owner alone: events may be anybody's secret.
    ///
    /// - Parameter path: The file; `nil` for memory.
    /// - Throws: A `DatabaseError` when it cannot be opened or is something else.
    init(path: String?) throws {
        guard let path else {
            database = try DatabaseQueue()
            place = nil
            try WebhookQueueSchema.migrate(database)
            return
        }
        if !FileManager.default.fileExists(atPath: path) {
            // SQLite gives the files beside it the same permissions. When this fails, opening says why.
            _ = FileManager.default.createFile(
                atPath: path,
                contents: nil,
                attributes: [.posixPermissions: 0o600]
            )
        }
        var configuration = Configuration()
        configuration.busyMode = .timeout(Self.busyTimeout)
        configuration.journalMode = .wal
        database = try DatabaseQueue(path: path, configuration: configuration)
        try WebhookQueueSchema.migrate(database)
        place = Place(path: path)
    }

    /// Opens the file of a broker, which may be running.
    ///
    /// - Parameter path: The file.
    /// - Throws: ``WebhookQueueError`` when there is none, or it cannot be read.
    public convenience init(reading path: String) throws(WebhookQueueError) {
        guard FileManager.default.fileExists(atPath: path) else { throw .missing(path: path) }
        do {
            try self.init(path: path)
        } catch {
            throw .failed("\(path) cannot be opened: \(error)")
        }
    }

    /// The webhooks that are not delivered yet.
    public func deliveryCount() throws(WebhookQueueError) -> Int {
        try read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM deliveries") ?? 0 }
    }

    /// The webhooks that were given up.
    public func deadLetterCount() throws(WebhookQueueError) -> Int {
        try read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM dead_letters") ?? 0 }
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
        try read { database in
            try Row.fetchAll(
                database,
                sql: "SELECT * FROM dead_letters WHERE id < ? ORDER BY id DESC LIMIT ?",
                arguments: [id ?? .max, countMax]
            )
            .map { DeadLetter($0) }
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
        try change("UPDATE dead_letters SET is_replayed = 1 WHERE id = ?", [id]) > 0
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
        try change("DELETE FROM dead_letters WHERE id = ?", [id]) > 0
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
        _ body: (Database) throws -> Value
    ) throws(WebhookQueueError) -> Value {
        do { return try database.read(body) } catch { throw .failed("\(error)") }
    }

    private func change(
        _ sql: String,
        _ arguments: StatementArguments
    ) throws(WebhookQueueError) -> Int {
        do {
            return try database.write { database in
                try database.execute(sql: sql, arguments: arguments)
                return database.changesCount
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
    /// - Throws: A `DatabaseError`.
    func deliveries(
        except known: Set<Int64> = []
    ) async throws -> (ids: Set<Int64>, others: [Delivery]) {
        try await database.read { database in
            var ids: Set<Int64> = []
            var others: [Delivery] = []
            let rows = try Row.fetchCursor(database, sql: "SELECT * FROM deliveries ORDER BY id")
            while let row = try rows.next() {
                let id: Int64 = row["id"]
                ids.insert(id)
                if !known.contains(id) { others.append(Delivery(row)) }
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
        return try await database.read { try Int64.fetchOne($0, sql: sql) ?? 0 }
    }

    /// Writes changes, all or none.
    ///
    /// - Parameters:
    ///   - changes: What has happened since the last time.
    ///   - countMax: The dead letters that are kept.
    ///   - lengthMax: The length of their events, in bytes.
    /// - Throws: A `DatabaseError`, for example of a full disk; nothing has been written then.
    func apply(_ changes: PendingWrites.Changes, countMax: Int, lengthMax: Int) async throws {
        try await database.write { database in
            for delivery in changes.deliveries.values { try delivery.insert(into: database) }
            for id in changes.done {
                try database.execute(sql: "DELETE FROM deliveries WHERE id = ?", arguments: [id])
            }
            for id in changes.revived {
                try database.execute(sql: "DELETE FROM dead_letters WHERE id = ?", arguments: [id])
            }
            for letter in changes.deaths { try letter.insert(into: database) }
            guard !changes.deaths.isEmpty else { return }
            // The newest are kept, as many as both limits allow.
            try database.execute(
                sql: """
                    DELETE FROM dead_letters WHERE id IN (
                        SELECT id FROM (
                            SELECT id, ROW_NUMBER() OVER newest AS number,
                                SUM(LENGTH(events)) OVER newest AS length
                            FROM dead_letters WINDOW newest AS (ORDER BY id DESC))
                        WHERE number > ? OR length > ?)
                    """,
                arguments: [countMax, lengthMax]
            )
        }
    }

    /// Reads dead letters that are to be sent again, oldest first.
    func replays(countMax: Int) async throws -> [DeadLetter] {
        try await database.read { database in
            try Row.fetchAll(
                database,
                sql: "SELECT * FROM dead_letters WHERE is_replayed ORDER BY id LIMIT ?",
                arguments: [countMax]
            )
            .map { DeadLetter($0) }
        }
    }
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
