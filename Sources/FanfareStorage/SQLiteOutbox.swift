public import FanfareOutbox
public import GRDB

import Foundation
import Primitives

/// Stores the events of an outbox in SQLite, so that they are sent even after a restart of the app.
///
/// The outbox can have its own file:
///
/// ```swift
/// options.recovery.outbox = try SQLiteOutbox(path: "outbox.sqlite")
/// ```
///
/// It can also be a table of the app's database. One transaction then writes a change and its event: both or neither.
///
/// ```swift
/// let store = try SQLiteOutbox(database)
/// try await database.write { database in
///     try order.insert(database)
///     try store.append(event, in: database)
/// }
/// ```
public final class SQLiteOutbox: OutboxStore {
    private let database: any DatabaseWriter
    private let table: String
    private let countMax: Int
    private let appended = Lock<(@Sendable () -> Void)?>(nil)

    /// Opens or creates a file for the events.
    ///
    /// - Parameters:
    ///   - path: The file's path.
    ///   - countMax: The most events to hold.
    /// - Throws: A `DatabaseError` of GRDB.
    public convenience init(path: String, countMax: Int = 10_000) throws {
        var configuration = Configuration()
        // Another process may read the file, such as one that shows the waiting events.
        configuration.busyMode = .timeout(5)
        let database = try DatabaseQueue(path: path, configuration: configuration)
        try self.init(database, countMax: countMax)
    }

    /// Uses a table of the app's database; creates the table if it does not exist.
    ///
    /// - Parameters:
    ///   - database: The database.
    ///   - table: The table's name.
    ///   - countMax: The most events to hold.
    /// - Throws: A `DatabaseError` of GRDB.
    public init(
        _ database: any DatabaseWriter,
        table: String = "fanfare_outbox",
        countMax: Int = 10_000
    ) throws {
        self.database = database
        self.table = table
        self.countMax = countMax
        try database.write { database in
            try database.create(table: table, options: .ifNotExists) { table in
                // AUTOINCREMENT: the place of a removed event must not be used again.
                table.autoIncrementedPrimaryKey("place")
                // UTF-8 as blobs: SQLite's functions end text at U+0000, which is an ordinary character here.
                for column in ["key", "name", "channel", "data"] {
                    table.column(column, .blob).notNull()
                }
                table.uniqueKey(["key"])
            }
        }
    }

    /// Returns the oldest events, in order.
    public func first(_ countMax: Int) async throws -> [OutboxEvent] {
        try await database.read { [table] database in
            try Row.fetchAll(
                database,
                sql: """
                    SELECT key, name, channel, data FROM \(table.quotedDatabaseIdentifier)
                    ORDER BY place LIMIT ?
                    """,
                arguments: [countMax]
            ).map { row in
                func text(_ column: String) -> String {
                    String(decoding: row[column] as Data, as: UTF8.self)
                }
                return OutboxEvent(
                    key: text("key"),
                    name: text("name"),
                    channel: text("channel"),
                    data: text("data")
                )
            }
        }
    }

    /// Adds an event after all others.
    public func append(_ event: OutboxEvent) async throws {
        try await database.write { try self.append(event, in: $0) }
    }

    /// Adds an event in a transaction of the app; the outbox sends it once the transaction is committed.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - database: The database, in the transaction.
    /// - Throws: An `OutboxFull`, or a `DatabaseError` of GRDB.
    public func append(_ event: OutboxEvent, in database: Database) throws {
        let name = table.quotedDatabaseIdentifier
        let count = try Int.fetchOne(database, sql: "SELECT COUNT(*) FROM \(name)") ?? 0
        guard count < countMax else { throw OutboxFull(countMax: countMax) }
        try database.execute(
            sql: "INSERT INTO \(name) (key, name, channel, data) VALUES (?, ?, ?, ?)",
            arguments: StatementArguments(
                [event.key, event.name, event.channel, event.data].map { Data($0.utf8) }
            )
        )
        database.afterNextTransaction { _ in self.appended.withLock { $0 }?() }
    }

    /// Removes the event with a key; does nothing if there is none.
    public func remove(_ key: String) async throws {
        try await database.write { [table] database in
            try database.execute(
                sql: "DELETE FROM \(table.quotedDatabaseIdentifier) WHERE key = ?",
                arguments: [Data(key.utf8)]
            )
        }
    }

    /// Sets the closure to call when a transaction has added events.
    public func onAppend(_ perform: @escaping @Sendable () -> Void) {
        appended.withLock { $0 = perform }
    }
}
