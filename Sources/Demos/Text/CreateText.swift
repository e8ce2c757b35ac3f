package import DemoSite
import GRDB

extension Migration {
    /// The text as it was at the beginning of its epoch, and the log since then.
    package static let createText = Migration("createText") { database in
        try database.execute(
            sql: """
                CREATE TABLE text_snapshots (
                    id INTEGER PRIMARY KEY CHECK (id = 1),
                    snapshot TEXT NOT NULL
                );
                CREATE TABLE text_entries (
                    serial INTEGER PRIMARY KEY,
                    entry TEXT NOT NULL
                );
                """
        )
    } down: { database in
        try database.execute(sql: "DROP TABLE text_entries; DROP TABLE text_snapshots")
    }
}
