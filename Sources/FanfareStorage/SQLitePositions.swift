public import FanfareOutbox
public import GRDB

import Foundation

/// Stores a client's positions in SQLite, so that the app's next run continues there.
///
/// ```swift
/// options.recovery.positions = try SQLitePositions(path: "positions.sqlite")
/// ```
public final class SQLitePositions: PositionStore {
    private let database: any DatabaseWriter
    private let table: String
    private let countMax: Int

    /// Opens or creates a file for the positions.
    ///
    /// - Parameters:
    ///   - path: The file's path.
    ///   - countMax: The most channels whose positions are stored; the most recently changed positions stay.
    /// - Throws: A `DatabaseError` of GRDB.
    public convenience init(path: String, countMax: Int = 10_000) throws {
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        let database = try DatabaseQueue(path: path, configuration: configuration)
        try self.init(database, countMax: countMax)
    }

    /// Uses a table of the app's database; creates the table if it does not exist.
    ///
    /// - Parameters:
    ///   - database: The database.
    ///   - table: The table's name.
    ///   - countMax: The most channels whose positions are stored; the most recently changed positions stay.
    /// - Throws: A `DatabaseError` of GRDB.
    public init(
        _ database: any DatabaseWriter,
        table: String = "fanfare_positions",
        countMax: Int = 10_000
    ) throws {
        self.database = database
        self.table = table
        self.countMax = countMax
        try database.write { database in
            try database.create(table: table, options: .ifNotExists) { table in
                table.autoIncrementedPrimaryKey("place")
                // UTF-8 as a blob: SQLite's functions end text at U+0000, which is an ordinary character here.
                table.column("channel", .blob).notNull().unique()
                table.column("stream", .text).notNull()
                table.column("serial", .integer).notNull()
            }
        }
    }

    /// Returns all positions, the most recently changed one last.
    public func positions() async throws -> [StoredPosition] {
        try await database.read { [table] database in
            try Row.fetchAll(
                database,
                sql: """
                    SELECT channel, stream, serial FROM \(table.quotedDatabaseIdentifier)
                    ORDER BY place
                    """
            ).map { row in
                StoredPosition(
                    channel: String(decoding: row["channel"] as Data, as: UTF8.self),
                    stream: row["stream"],
                    serial: UInt64(clamping: row["serial"] as Int64)
                )
            }
        }
    }

    /// Replaces the positions of some channels; above the limit, removes the least recently changed ones.
    public func save(_ positions: [StoredPosition]) async throws {
        try await database.write { try self.save(positions, in: $0) }
    }

    /// Replaces positions in a transaction of the app; see ``save(_:)``.
    ///
    /// - Parameters:
    ///   - positions: The new positions.
    ///   - database: The database, in the transaction.
    /// - Throws: A `DatabaseError` of GRDB.
    public func save(_ positions: [StoredPosition], in database: Database) throws {
        let name = table.quotedDatabaseIdentifier
        for position in positions {
            // Replaced as a whole row, with a new place.
            try database.execute(
                sql: "INSERT OR REPLACE INTO \(name) (channel, stream, serial) VALUES (?, ?, ?)",
                arguments: [
                    Data(position.channel.utf8), position.stream, Int64(clamping: position.serial),
                ]
            )
        }
        try database.execute(
            sql: """
                DELETE FROM \(name) WHERE place <= (
                    SELECT place FROM \(name) ORDER BY place DESC LIMIT 1 OFFSET ?
                )
                """,
            arguments: [countMax]
        )
    }
}
