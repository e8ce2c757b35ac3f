package import GRDB

/// A change of the database's shape that can be taken back.
package struct Migration: Sendable {
    /// Written to the database when the migration has run; never changed afterwards, and no other demo's.
    package let identifier: String
    fileprivate let up: @Sendable (Database) throws -> Void
    fileprivate let down: @Sendable (Database) throws -> Void

    /// Describes a migration.
    ///
    /// - Parameters:
    ///   - identifier: Its name for ever.
    ///   - up: Makes the change, in a transaction.
    ///   - down: Takes it back, in a transaction.
    package init(
        _ identifier: String,
        up: @escaping @Sendable (Database) throws -> Void,
        down: @escaping @Sendable (Database) throws -> Void
    ) {
        self.identifier = identifier
        self.up = up
        self.down = down
    }
}

extension [Migration] {
    /// Opens a database and brings it to the newest shape.
    ///
    /// - Parameter path: The database file, made when it is missing; `nil` for one in memory.
    /// - Returns: The open database.
    /// - Throws: A `DatabaseError` of GRDB when the file cannot be opened or is not a database.
    package func open(_ path: String?) throws -> DatabaseQueue {
        var configuration = Configuration()
        // Another process may write to the file as well: its transaction is waited for.
        configuration.busyMode = .timeout(5)
        let database =
            try path.map { try DatabaseQueue(path: $0, configuration: configuration) }
            ?? DatabaseQueue()
        try migrateUp(database)
        return database
    }

    /// Runs the migrations that this database has not seen.
    package func migrateUp(_ writer: some DatabaseWriter) throws {
        var migrator = DatabaseMigrator()
        for migration in self {
            migrator.registerMigration(migration.identifier, migrate: migration.up)
        }
        try migrator.migrate(writer)
    }

    /// Takes back the migration that has run last.
    ///
    /// - Returns: Its identifier, or `nil` when there was none to take back.
    package func migrateDown(_ writer: some DatabaseWriter) throws -> String? {
        try writer.write { database in
            // GRDB migrates up only; this table is its record of what has run, in that order.
            guard try database.tableExists("grdb_migrations") else { return nil }
            let applied = try String.fetchAll(
                database,
                sql: "SELECT identifier FROM grdb_migrations ORDER BY rowid DESC"
            )
            // One that this program does not know is a newer program's.
            let known = applied.lazy.compactMap { name in first { $0.identifier == name } }
            guard let newest = known.first else { return nil }
            try newest.down(database)
            try database.execute(
                sql: "DELETE FROM grdb_migrations WHERE identifier = ?",
                arguments: [newest.identifier]
            )
            return newest.identifier
        }
    }
}
