import DemoSite
import GRDB
import Testing

@testable import ToDo

/// The constraints that apply to every writer of the database.
@Suite("The table of to-dos") struct ToDoTableTests {
    let database: DatabaseQueue

    init() throws { database = try [ToDo.migration].open(nil) }

    private func execute(_ sql: String) throws {
        try database.write { try $0.execute(sql: sql) }
    }

    private func titles(_ query: (Database) throws -> [ToDo]) throws -> [String] {
        try database.read(query).map(\.title)
    }

    @Test func theQueryReturnsOpenToDosByDate() throws {
        let expected = [
            "Return the library books", "Water the tomatoes", "Call Grandma",
            "Book the night train",
            "Learn to juggle",
        ]
        #expect(try titles(ToDo.open) == expected)
        #expect(try titles(ToDo.done) == ["Mend the bicycle"])
    }

    @Test func downDropsEverything() throws {
        #expect(try [ToDo.migration].migrateDown(database) == "createToDos")
        let left = try database.read { database in
            try String.fetchAll(
                database,
                sql: "SELECT name FROM sqlite_master WHERE name LIKE 'toDo%'"
            )
        }
        #expect(left == [])
    }

    @Test func aDoneToDoHasATime() throws {
        try execute("UPDATE ToDos SET isDone = 1 WHERE title = 'Call Grandma'")
        let done = try database.read(ToDo.done)
        #expect(done.map(\.title) == ["Call Grandma", "Mend the bicycle"])
        #expect(done.allSatisfy { $0.doneAt?.count == 23 })
        try execute("UPDATE ToDos SET isDone = 0")
        #expect(try database.read(ToDo.open).allSatisfy { $0.doneAt == nil })
    }

    @Test(arguments: [
        "INSERT INTO ToDos (title) VALUES ('New')", "UPDATE ToDos SET title = 'New' WHERE id = 1",
        "DELETE FROM ToDos WHERE id = 1",
    ])
    func everyChangeIsAVersion(sql: String) throws {
        let before = try database.read(ToDo.version)
        try execute(sql)
        #expect(try database.read(ToDo.version) > before)
    }

    @Test(arguments: [
        "INSERT INTO ToDos (title) VALUES (' ')",
        "INSERT INTO ToDos (title) VALUES (printf('%.201c', 'x'))",
        "INSERT INTO ToDos (title, due) VALUES ('New', 'tomorrow')",
        "INSERT INTO ToDos (title, due) VALUES ('New', '2026-02-30')",
        "UPDATE ToDos SET isDone = 2",
    ])
    func whatBreaksARuleIsNotTaken(sql: String) throws {
        #expect(throws: DatabaseError.self) { try execute(sql) }
    }

    @Test func idsAreNotReused() throws {
        try execute("DELETE FROM ToDos WHERE id = 6; INSERT INTO ToDos (title) VALUES ('New')")
        #expect(try database.read(ToDo.open).map(\.id).max() == 7)
    }
}
