import DemoSite
import Foundation
import GRDB
import LiveCollections

/// The text in SQLite: a snapshot, and the entries of the log that follow it.
struct TextStore: Sendable {
    let database: DatabaseQueue

    /// What was stored, and the entries since, in order.
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

    /// Adds entries to the log.
    func append(_ entries: [TextEntry]) throws {
        try database.write { database in
            for entry in entries {
                try database.execute(
                    sql: "INSERT INTO text_entries (serial, entry) VALUES (?, ?)",
                    arguments: [Int64(entry.serial), try JSONText.encode(entry)]
                )
            }
        }
    }

    /// Puts a snapshot in place of all that was stored before.
    func replace(with snapshot: TextSnapshot) throws {
        let text = try JSONText.encode(snapshot)
        try database.write { database in
            try database.execute(sql: "DELETE FROM text_entries")
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
