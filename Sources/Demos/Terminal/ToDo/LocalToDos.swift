import Foundation
import GRDB

/// The local copy of the to-dos, and the edits that the backend has not received.
///
/// One transaction changes the copy and the queue, so no edit is lost when the program ends.
struct LocalToDos: Sendable {
    let database: DatabaseQueue

    /// Opens a database file; creates the file if it does not exist.
    ///
    /// - Parameter path: The file; `nil` for a database in memory.
    /// - Throws: A `CocoaError` when its folder cannot be created; a `DatabaseError` when the file cannot be opened.
    init(path: String?) throws {
        if let path {
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        }
        var configuration = Configuration()
        // Several terminals may share a file.
        configuration.busyMode = .timeout(5)
        database =
            try path.map { try DatabaseQueue(path: $0, configuration: configuration) }
            ?? DatabaseQueue()
        var migrator = DatabaseMigrator()
        migrator.registerMigration("createToDos") { database in
            try database.execute(
                sql: """
                    CREATE TABLE ToDos (
                        id INTEGER PRIMARY KEY, title TEXT NOT NULL, due TEXT,
                        isDone BOOLEAN NOT NULL, doneAt TEXT
                    );
                    CREATE TABLE Edits (
                        number INTEGER PRIMARY KEY AUTOINCREMENT,
                        mutation TEXT NOT NULL, operation TEXT NOT NULL
                    );
                    """
            )
        }
        try migrator.migrate(database)
    }

    /// Fetches the rows of the screen: those not done, by date.
    static func open(_ database: Database) throws -> [LocalToDo] {
        try LocalToDo.fetchAll(
            database,
            sql: "SELECT * FROM ToDos WHERE isDone = 0 ORDER BY due IS NULL, due, id"
        )
    }

    /// A queued edit.
    struct Edit: Equatable, Sendable {
        let number: Int64
        /// The ID of the edit; a repeated edit is applied once.
        let mutation: String
        let operation: ToDoOperation
    }

    /// Applies an edit locally and queues it.
    func edit(_ operation: ToDoOperation) throws {
        try database.write { database in
            let before = try LocalToDo.fetchOne(database, key: operation.id)
            try Self.write(operation.applied(to: before), over: before, database)
            try database.execute(
                sql: "INSERT INTO Edits (mutation, operation) VALUES (?, ?)",
                arguments: [
                    UUID().uuidString.lowercased(),
                    String(decoding: try JSONEncoder().encode(operation), as: UTF8.self),
                ]
            )
        }
    }

    /// Returns the queued edits, in order.
    func queuedEdits() throws -> [Edit] { try database.read { try Self.edits($0) } }

    /// Removes an edit that the backend has answered.
    func remove(_ edit: Edit) throws {
        try database.write { database in
            try database.execute(
                sql: "DELETE FROM Edits WHERE number = ?",
                arguments: [edit.number]
            )
        }
    }

    /// Replaces the copy by the backend's rows with the queued edits applied; writes only the differences.
    func replace(with rows: [LocalToDo]) throws {
        try database.write { database in
            var target = Dictionary(rows.map { ($0.id, $0) }) { $1 }
            for edit in try Self.edits(database) {
                target[edit.operation.id] = edit.operation.applied(to: target[edit.operation.id])
            }
            for row in try LocalToDo.fetchAll(database) {
                try Self.write(target.removeValue(forKey: row.id), over: row, database)
            }
            for row in target.values { try row.insert(database) }
        }
    }

    private static func edits(_ database: Database) throws -> [Edit] {
        try Row.fetchAll(database, sql: "SELECT * FROM Edits ORDER BY number").map { row in
            let operation: String = row["operation"]
            return Edit(
                number: row["number"],
                mutation: row["mutation"],
                operation: try JSONDecoder().decode(
                    ToDoOperation.self,
                    from: Data(operation.utf8)
                )
            )
        }
    }

    private static func write(
        _ row: LocalToDo?,
        over old: LocalToDo?,
        _ database: Database
    ) throws {
        guard row != old else { return }
        if let row { try row.save(database) } else { try old?.delete(database) }
    }
}
