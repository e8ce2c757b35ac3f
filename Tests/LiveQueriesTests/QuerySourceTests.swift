import FanfareClient
import FanfareTesting
import GRDB
import LiveCollections
import LiveQueries
import LiveRows
import Testing

/// A task in a database.
struct Errand: Codable, Identifiable, Equatable, Sendable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "task"
    var id: Int
    var text: String
    var date: Int
    var isDone = false
}

private struct Unreadable: Error {}

@Suite("Lists of a query's rows") @MainActor struct QuerySourceTests {
    private let database: DatabaseQueue

    init() throws {
        database = try DatabaseQueue()
        try database.write { database in
            try database.create(table: "task") { table in
                table.primaryKey("id", .integer)
                table.column("text", .text).notNull().unique()
                table.column("date", .integer).notNull()
                table.column("isDone", .boolean).notNull()
            }
            for number in 1...3 {
                try Errand(id: number, text: "#\(number)", date: number * 10).insert(database)
            }
        }
    }

    /// The open tasks, by date.
    @Sendable private nonisolated static func open(_ database: Database) throws -> [Errand] {
        try Errand.filter(Column("isDone") == false).order(Column("date")).fetchAll(database)
    }

    private func list() -> LiveList<Errand> {
        LiveList(
            QuerySource(in: database, fetch: Self.open) { database, operation in
                switch operation {
                case .put(let task, after: _): try task.save(database)
                case .update(let task): try task.update(database)
                case .set(let task, _):
                    guard let stored = try Errand.fetchOne(database, key: task.id) else { return }
                    try operation.contents(over: stored).update(database)
                case .remove(let id): try Errand.deleteOne(database, key: id)
                case .move: throw LiveListError.refused(reason: "the order is that of the dates")
                }
            }
        )
    }

    private func until(_ condition: () -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while !condition() {
            try #require(ContinuousClock.now < deadline)
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    @Test(
        "Every write to the database changes exactly the rows that differ"
    )
    func follows() async throws {
        let list = list()
        try await until { list.state.isLive }
        #expect(list.rows.map(\.id) == [1, 2, 3])
        var table = TableOracle<Errand>(rows: [])
        var last = RowChanges()
        let observation = list.observe { update in
            last = update.changes
            #expect(throws: Never.self) { try table.apply(update.changes, rows: update.rows) }
        }
        try await database.write { database in
            try database.execute(sql: "UPDATE task SET isDone = TRUE WHERE id = 2")
            try Errand(id: 4, text: "new", date: 5).insert(database)
        }
        try await until { list.rows.map(\.id) == [4, 1, 3] }
        #expect(last == RowChanges(deletes: [1], inserts: [0]))
        try await database.write { try $0.execute(sql: "UPDATE task SET text = 'x' WHERE id = 3") }
        try await until { list.rows.last?.text == "x" }
        #expect(last == RowChanges(updates: [2]))
        #expect(table.cellsMade == 3 + 1 + 1)
        observation.cancel()
    }

    @Test("An edit is a write to the database, shown before and after it completes")
    func edits() async throws {
        let list = list()
        try await until { list.state.isLive }
        let edit = list.edit { $0.update(2) { $0.isDone = true } }
        #expect(list.rows[1].isDone)
        try await edit.confirmed()
        try await until { list.rows.map(\.id) == [1, 3] }
        let stored = try await database.read { try Errand.fetchOne($0, key: 2) }
        #expect(stored?.isDone == true)
    }

    @Test("An edit that the database refuses is reverted as a whole")
    func refused() async throws {
        let list = list()
        try await until { list.state.isLive }
        let edit = list.edit { editor in
            editor.remove(1)
            editor.append(Errand(id: 9, text: "#3", date: 90))
        }
        #expect(list.rows.map(\.id) == [2, 3, 9])
        await #expect(throws: LiveListError.self) { try await edit.confirmed() }
        #expect(list.rows.map(\.id) == [1, 2, 3])
        await #expect(throws: LiveListError.refused(reason: "the order is that of the dates")) {
            try await list.edit { $0.move(1, after: 3) }.confirmed()
        }
        #expect(try await database.read { try Errand.fetchCount($0) } == 3)
    }

    @Test("A failed query is reported, and the rows stay")
    func failure() async throws {
        let source = QuerySource<Errand>(in: database) { database in
            let errands = try Self.open(database)
            if errands.contains(where: { $0.text == "unreadable" }) { throw Unreadable() }
            return errands
        }
        let list = LiveList(source)
        try await until { list.state.isLive }
        try await database.write { database in
            try database.execute(sql: "UPDATE task SET text = 'unreadable' WHERE id = 1")
        }
        try await until { list.state.error is Unreadable }
        #expect(list.rows.count == 3)
        await #expect(throws: LiveListError.readOnly) {
            try await list.edit { $0.remove(1) }.confirmed()
        }
    }

    @Test("The observation ends with the list")
    func lifetime() async throws {
        var list: LiveList<Errand>? = list()
        try await until { list?.state.isLive == true }
        weak let gone = list
        list = nil
        #expect(gone == nil)
        try await database.write { try $0.execute(sql: "DELETE FROM task") }
    }
}
