import DemoSite
import GRDB

extension Migration {
    /// The table of the well-known tutorial, with its first row.
    static let createUsers = Migration("createUsers") { database in
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

    /// Keeps `updated_at` true, whoever writes a row.
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
