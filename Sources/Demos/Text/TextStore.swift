import DemoSite
import Foundation
import GRDB
import LiveCollections

/// The text in SQLite: a snapshot, the log entries after it, and the last entries before it.
struct TextStore: Sendable {
    let database: DatabaseQueue

    /// Loads the snapshot and the stored entries, in order.
    func load() throws -> (snapshot: TextSnapshot, entries: [TextEntry]) {
        try database.read { database in
            let snapshot = try String.fetchOne(
                database,
                sql: "SELECT snapshot FROM text_snapshots WHERE id = 1"
            )
            let entries = try String.fetchAll(
                database,
                sql: "SELECT entry FROM text_entries ORDER BY serial"
            )
            return (
                try snapshot.map { try Self.decode($0) } ?? .empty,
                try entries.map { try Self.decode($0) }
            )
        }
    }

    // A change ends with `post`, which adds its events in the same transaction.

    /// Appends entries to the log.
    func append(_ entries: [TextEntry], post: (Database) throws -> Void = { _ in }) throws {
        try database.write { database in
            for entry in entries {
                try database.execute(
                    sql: "INSERT INTO text_entries (serial, entry) VALUES (?, ?)",
                    arguments: [Int64(entry.serial), try JSONText.encode(entry)]
                )
            }
            try post(database)
        }
    }

    /// Replaces everything stored by a snapshot.
    func replace(
        with snapshot: TextSnapshot,
        post: (Database) throws -> Void = { _ in }
    ) throws {
        let text = try JSONText.encode(snapshot)
        try database.write { database in
            try database.execute(sql: "DELETE FROM text_entries")
            try database.execute(
                sql: "INSERT OR REPLACE INTO text_snapshots (id, snapshot) VALUES (1, ?)",
                arguments: [text]
            )
            try post(database)
        }
    }

    /// Replaces the snapshot, and removes the entries up to a serial; changes nothing if it throws.
    func trim(through serial: UInt64, to snapshot: TextSnapshot) throws {
        let text = try JSONText.encode(snapshot)
        try database.write { database in
            try database.execute(
                sql: "DELETE FROM text_entries WHERE serial <= ?",
                arguments: [Int64(serial)]
            )
            try database.execute(
                sql: "INSERT OR REPLACE INTO text_snapshots (id, snapshot) VALUES (1, ?)",
                arguments: [text]
            )
        }
    }

    private static func decode<Value: Decodable>(_ text: String) throws -> Value {
        try JSONDecoder().decode(Value.self, from: Data(text.utf8))
    }
}

extension TextStore {
    /// The text at one moment, and the log: all entries since then, and the last ones before.
    static let migration = Migration("createText") { database in
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
