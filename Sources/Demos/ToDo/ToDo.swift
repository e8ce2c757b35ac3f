import DemoSite
import GRDB
import HTTP1

/// A to-do.
struct ToDo: ListRow {
    static let databaseTableName = "ToDos"
    /// The maximum length of a title, in characters.
    static let titleLengthMax = 200
    /// The maximum number of to-dos.
    static let countMax = 1_000

    /// The ID, created by the client that adds the to-do, otherwise by the database.
    let id: Int64
    var title: String
    /// The due date, `2026-01-31`; `nil` for none.
    var due: String?
    var isDone: Bool
    /// The time when it was done, in UTC, `2026-01-31 23:59:59.999`; set by the database.
    var doneAt: String?

    func check() throws(RequestError) {
        try RequestError.check(title, "title", limit: Self.titleLengthMax)
    }

    private enum CodingKeys: String, CodingKey { case id, title, due, isDone, doneAt }

    /// Encodes all fields, including null ones, because an update sets every field that it contains.
    func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encode(id, forKey: .id)
        try fields.encode(title, forKey: .title)
        try fields.encode(due, forKey: .due)
        try fields.encode(isDone, forKey: .isDone)
        try fields.encode(doneAt, forKey: .doneAt)
    }
}

extension ToDo {
    /// Fetches the rows of the screens: open to-dos by due date; those without a date are last.
    static func open(_ database: Database) throws -> [ToDo] {
        try fetchAll(
            database,
            sql: "SELECT * FROM ToDos WHERE isDone = 0 ORDER BY due IS NULL, due, id"
        )
    }

    /// Fetches the done to-dos, latest first.
    static func done(_ database: Database) throws -> [ToDo] {
        try fetchAll(
            database,
            sql: "SELECT * FROM ToDos WHERE isDone = 1 ORDER BY doneAt DESC, id DESC"
        )
    }

    /// Returns the version, which every change of a to-do by any writer increments.
    static func version(_ database: Database) throws -> Int64 {
        try Int64.fetchOne(database, sql: "SELECT version FROM ToDoVersion") ?? 0
    }
}
