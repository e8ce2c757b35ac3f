import GRDB

/// A change of the database's shape that can be taken back.
struct Migration: Sendable {
    /// Written to the database when the migration has run; never changed afterwards.
    let identifier: String
    let up: @Sendable (Database) throws -> Void
    let down: @Sendable (Database) throws -> Void

    /// Every migration, in the order in which they run.
    static let all = [createUsers]

    private static let createUsers = Migration(identifier: "createUsers") { database in
        // AUTOINCREMENT: the id of a removed user must not come back as somebody else's.
        try database.execute(
            sql: """
                CREATE TABLE Users (
                    id INTEGER PRIMARY KEY AUTOINCREMENT,
                    name TEXT NOT NULL,
                    position INTEGER NOT NULL,
                    updated_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
                );
                INSERT INTO Users (name, position) VALUES ('John Doe', 1);
                """
        )
    } down: { database in
        try database.execute(sql: "DROP TABLE Users")
    }
}

extension Migration {
    /// Runs the migrations that this database has not seen.
    static func migrateUp(_ writer: some DatabaseWriter) throws {
        var migrator = DatabaseMigrator()
        for migration in all {
            migrator.registerMigration(migration.identifier, migrate: migration.up)
        }
        try migrator.migrate(writer)
    }

    /// Takes back the newest migration that has run.
    ///
    /// - Returns: Its identifier, or `nil` when there was none to take back.
    static func migrateDown(_ writer: some DatabaseWriter) throws -> String? {
        try writer.write { database in
            // GRDB migrates up only; this table is its record of what has run.
            guard try database.tableExists("grdb_migrations") else { return nil }
            let applied = try String.fetchSet(
                database,
                sql: "SELECT identifier FROM grdb_migrations"
            )
            guard let newest = all.last(where: { applied.contains($0.identifier) }) else {
                return nil
            }
            try newest.down(database)
            try database.execute(
                sql: "DELETE FROM grdb_migrations WHERE identifier = ?",
                arguments: [newest.identifier]
            )
            return newest.identifier
        }
    }
}
