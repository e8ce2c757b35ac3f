import DemoSite
import GRDB

/// A row of the live list.
struct User: ListRow {
    static let databaseTableName = "Users"
    /// The maximum length of a name, in characters.
    static let nameLengthMax = 100

    /// Created by the client that adds the user; never reused.
    let id: Int64
    /// The name, as entered.
    var name: String

    func check() throws(RequestError) {
        try RequestError.check(name, "name", limit: Self.nameLengthMax)
    }
}

/// A row of the list in the tutorial's `GET /users`.
struct ListedUser: Codable, Equatable, Sendable, FetchableRecord {
    let id: Int64
    let name: String
    /// The position in the list: 1 for the first row.
    let position: Int
    /// When the row was last written, in UTC: `2026-01-31 23:59:59`.
    let updatedAt: String

    // Columns of the database and keys of the JSON.
    private enum CodingKeys: String, CodingKey {
        case id, name, position
        case updatedAt = "updated_at"
    }

    /// Returns all users, in order.
    static func all(_ database: Database) throws -> [ListedUser] {
        try fetchAll(
            database,
            sql: "SELECT id, name, position, updated_at FROM Users ORDER BY position"
        )
    }
}

extension Migration {
    /// The table of the well-known tutorial, with its first row.
    static let createUsers = Migration("createUsers") { database in
        // AUTOINCREMENT: the id of a removed user must not be reused.
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

    /// Updates `updated_at` on every write of a row.
    static let touchUsers = Migration("touchUsers") { database in
        try database.execute(
            sql: """
                CREATE TRIGGER touchUsers AFTER UPDATE OF name, position ON Users BEGIN
                    UPDATE Users SET updated_at = CURRENT_TIMESTAMP WHERE id = NEW.id;
                END
                """
        )
    } down: { database in
        try database.execute(sql: "DROP TRIGGER touchUsers")
    }
}
