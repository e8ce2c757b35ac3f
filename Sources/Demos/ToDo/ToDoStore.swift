import DemoSite
import Foundation
import GRDB
import HTTP1

/// Writes to-dos; it publishes nothing, because the queries are observed.
struct ToDoStore: Sendable {
    /// The maximum number of operations of one edit.
    static let operationsMax = 200
    /// The maximum length of a mutation ID, in characters.
    static let mutationLengthMax = 64
    /// The number of remembered mutations, by which the store recognises repeated edits.
    static let mutationsMax = 5_000

    let database: DatabaseQueue

    /// All to-dos with their version.
    struct Everything: Encodable, Sendable {
        let version: Int64
        let rows: [ToDo]
    }

    func everything() throws -> Everything {
        try database.read { database in
            Everything(
                version: try ToDo.version(database),
                rows: try ToDo.order(sql: "id").fetchAll(database)
            )
        }
    }

    /// Skips versions, so that no client takes the first result of this run for the next result of the last run.
    func beginRun() throws {
        // More than the number of revisions that a run can publish without a change of the version.
        try database.write {
            try $0.execute(sql: "UPDATE ToDoVersion SET version = version + 1000")
        }
    }

    /// Applies an edit in one transaction, unless it was applied before, and returns the version that contains it.
    func commit(_ edit: ToDoEdit) throws -> Int64 {
        guard edit.operations.count <= Self.operationsMax else {
            throw RequestError.refused(
                413,
                "An edit may have \(Self.operationsMax) operations, not \(edit.operations.count)."
            )
        }
        do {
            return try database.write { database in
                if try isNew(edit.mutation, database) {
                    for operation in edit.operations { try perform(operation, database) }
                }
                return try ToDo.version(database)
            }
        } catch let error as DatabaseError
            where error.extendedResultCode == .SQLITE_CONSTRAINT_TRIGGER
        {
            throw RequestError.refused(409, error.message ?? "The list is full.")
        }
    }

    private func isNew(_ mutation: String?, _ database: Database) throws -> Bool {
        guard let mutation else { return true }
        try RequestError.check(mutation, "mutation", limit: Self.mutationLengthMax)
        try database.execute(
            sql: "INSERT OR IGNORE INTO ToDoMutations (mutation) VALUES (?)",
            arguments: [mutation]
        )
        guard database.changesCount == 1 else { return false }
        try database.execute(
            sql: "DELETE FROM ToDoMutations WHERE number <= ?",
            arguments: [database.lastInsertedRowID - Int64(Self.mutationsMax)]
        )
        return true
    }

    private func perform(_ operation: ToDoEdit.Operation, _ database: Database) throws {
        switch operation {
        case .put(let toDo):
            try check(id: toDo.id, title: toDo.title, due: toDo.due)
            let fields = ToDoEdit.Fields(
                id: toDo.id,
                title: toDo.title,
                due: .some(toDo.due),
                isDone: toDo.isDone
            )
            if try !update(fields, database) { try toDo.insert(database) }
        case .update(let fields):
            try check(id: fields.id, title: fields.title, due: fields.due ?? nil)
            // A to-do that was deleted meanwhile stays deleted.
            _ = try update(fields, database)
        case .remove(let id):
            try ToDo.deleteOne(database, key: id)
        }
    }

    /// Writes the fields of a to-do; returns `false` if it does not exist.
    private func update(_ fields: ToDoEdit.Fields, _ database: Database) throws -> Bool {
        guard var toDo = try ToDo.fetchOne(database, key: fields.id) else { return false }
        let before = toDo
        toDo.title = fields.title ?? toDo.title
        toDo.due = fields.due ?? toDo.due
        toDo.isDone = fields.isDone ?? toDo.isDone
        try toDo.updateChanges(database, from: before)
        return true
    }

    private func check(id: Int64, title: String?, due: String?) throws(RequestError) {
        guard (1..<1 << 53).contains(id) else {
            throw .refused(400, "The field id must be from 1 to 2^53 - 1, not \(id).")
        }
        if let title { try RequestError.check(title, "title", limit: ToDo.titleLengthMax) }
        if let due, !Self.isDay(due) {
            throw .refused(
                400,
                "The field due must be a day like 2026-01-31, not \(due.prefix(30))."
            )
        }
    }

    /// Whether the text is a valid date in SQLite's format.
    private static func isDay(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.map(\.utf8.count) == [4, 2, 2], text.utf8.count == 10,
            text.utf8.allSatisfy({ (48...57).contains($0) || $0 == 45 }),
            let year = Int(parts[0]), let month = Int(parts[1]), let day = Int(parts[2])
        else { return false }
        let calendar = Calendar(identifier: .gregorian)
        return DateComponents(calendar: calendar, year: year, month: month, day: day).isValidDate
    }
}
