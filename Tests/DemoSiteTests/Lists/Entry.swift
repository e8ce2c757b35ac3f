import DemoSite
import GRDB

/// A row of the list tests, with text ids.
struct Entry: ListRow {
    static let databaseTableName = "Entries"
    let id: String
    var text: String

    init(_ id: String, _ text: String = "text") {
        self.id = id
        self.text = text
    }

    func check() throws(RequestError) { try RequestError.check(text, "text", limit: 5) }

    /// The table, with entries a, b, c, d.
    static let migration = Migration("createEntries") { database in
        try database.execute(
            sql: """
                CREATE TABLE Entries (id TEXT PRIMARY KEY, text TEXT, position INTEGER NOT NULL);
                INSERT INTO Entries VALUES
                    ('b', 'text', 2), ('a', 'text', 1), ('d', 'text', 4), ('c', 'text', 3);
                """
        )
    } down: {
        try $0.execute(sql: "DROP TABLE Entries")
    }
}
