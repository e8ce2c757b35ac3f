import DemoSite
import GRDB

/// A row of the live list.
struct User: ListRow {
    static let databaseTableName = "Users"
    /// The maximum length of a name, in characters.
    static let nameLengthMax = 100

    /// The ID, created by the client that adds the user; never reused.
    let id: Int64
    /// The name, as entered.
    var name: String

    func check() throws(RequestError) {
        try RequestError.check(name, "name", limit: Self.nameLengthMax)
    }
}

extension User {
    static let migrations = [create, touch]

    /// The table of the well-known tutorial, with its first row and seven more.
    private static let create = Migration("createUsers") { database in
        // AUTOINCREMENT: the ID of a removed user must not be reused.
        try database.execute(
            sql: """
                CREATE TABLE Users (
                    id INTEGER PRIMARY KEY AUTOINCREMENT,
                    name TEXT NOT NULL,
                    position INTEGER NOT NULL,
                    updated_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
                );
                """
        )
        for (index, name) in originalNames.enumerated() {
            try database.execute(
                sql: "INSERT INTO Users (name, position) VALUES (?, ?)",
                arguments: [name, index + 1]
            )
        }
    } down: { database in
        try database.execute(sql: "DROP TABLE Users")
    }

    private static let originalNames = [
        "John Doe", "Ada Lovelace", "Grace Hopper", "Mary Jackson", "Hedy Lamarr", "Radia Perlman",
        "Alan Turing", "Katherine Johnson",
    ]

    /// Updates `updated_at` on every write of a row.
    private static let touch = Migration("touchUsers") { database in
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
