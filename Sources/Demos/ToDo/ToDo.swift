import DemoSite
import GRDB
import HTTP1

/// Something to do.
struct ToDo: ListRow {
    static let databaseTableName = "ToDos"
    /// The most characters of a title.
    static let titleLengthMax = 200
    /// The most to-dos that the table takes.
    static let countMax = 1_000

    /// Made by who adds it; the database makes one for who does not.
    let id: Int64
    var title: String
    /// The day by which it is to be done, `2026-01-31`; `nil` for some day.
    var due: String?
    var isDone: Bool
    /// When it was done, in UTC, `2026-01-31 23:59:59.999`; the database keeps it.
    var doneAt: String?

    func check() throws(RequestError) {
        try RequestError.check(title, "title", limit: Self.titleLengthMax)
    }

    private enum CodingKeys: String, CodingKey { case id, title, due, isDone, doneAt }

    /// Writes all fields, also those that are null: an update that names a field sets it.
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
    /// The query that the app's screens are bound to: not done, by date; those for some day come last.
    static func open(_ database: Database) throws -> [ToDo] {
        try fetchAll(
            database,
            sql: "SELECT * FROM ToDos WHERE isDone = 0 ORDER BY due IS NULL, due, id"
        )
    }

    /// What is done, the latest first.
    static func done(_ database: Database) throws -> [ToDo] {
        try fetchAll(
            database,
            sql: "SELECT * FROM ToDos WHERE isDone = 1 ORDER BY doneAt DESC, id DESC"
        )
    }

    /// Grows by one with each change of a to-do, whoever makes it.
    static func version(_ database: Database) throws -> Int64 {
        try Int64.fetchOne(database, sql: "SELECT version FROM ToDoVersion") ?? 0
    }
}
