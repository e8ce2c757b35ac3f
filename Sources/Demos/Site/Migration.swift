package import GRDB

/// A reversible change of the database's schema.
package struct Migration: Sendable {
    /// The unique identifier, stored in the database after the migration; never changed.
    package let identifier: String
    fileprivate let up: @Sendable (Database) throws -> Void
    fileprivate let down: @Sendable (Database) throws -> Void

    /// Creates a migration with a permanent, unique identifier; both functions run in a transaction.
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
    /// Opens a database and runs the missing migrations.
    ///
    /// - Parameter path: The database file, created if missing; `nil` for a database in memory.
    /// - Returns: The open database.
    /// - Throws: A `DatabaseError` of GRDB when the file cannot be opened or is not a database.
    package func open(_ path: String?) throws -> DatabaseQueue {
        var configuration = Configuration()
        // Waits for the transactions of other processes.
        configuration.busyMode = .timeout(5)
        let database =
            try path.map { try DatabaseQueue(path: $0, configuration: configuration) }
            ?? DatabaseQueue()
        try migrateUp(database)
        return database
    }

    /// Runs the missing migrations.
    package func migrateUp(_ writer: some DatabaseWriter) throws {
        var migrator = DatabaseMigrator()
        for migration in self {
            migrator.registerMigration(migration.identifier, migrate: migration.up)
        }
        try migrator.migrate(writer)
    }

    /// Reverts the last migration and returns its identifier; `nil` if there is none.
    package func migrateDown(_ writer: some DatabaseWriter) throws -> String? {
        try writer.write { database in
            // GRDB only migrates up; this table is its record of the applied migrations, in order.
            guard try database.tableExists("grdb_migrations") else { return nil }
            let applied = try String.fetchAll(
                database,
                sql: "SELECT identifier FROM grdb_migrations ORDER BY rowid DESC"
            )
            // An unknown migration belongs to a newer program.
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
