import GRDB
import LiveCollections
import LiveQueries

@MainActor func liveQueriesArticle() async throws {
    struct Errand: Codable, Identifiable, Equatable, FetchableRecord, PersistableRecord {
        var id: Int
        var text: String
        var isDone = false
    }

    let database = try DatabaseQueue()
    try await database.write { database in
        try database.create(table: "errand") { table in
            table.primaryKey("id", .integer)
            table.column("text", .text).notNull()
            table.column("isDone", .boolean).notNull()
        }
        try Errand(id: 1, text: "Water the plants").insert(database)
    }
    let open = QuerySource<Errand>(in: database) { database in
        try Errand.filter(Column("isDone") == false).fetchAll(database)
    }
    let errands = LiveList(open)
    for await update in errands.updates {
        print(update.rows.map(\.text), update.changes)
    }
}
