import GRDB
import Testing

@testable import RealtimeTable

@Suite("Migrations") struct MigrationsTests {
    @Test func upMakesTheTableWithItsFirstRow() throws {
        let database = try DatabaseQueue()
        try Migration.migrateUp(database)
        let columns = try database.read { try $0.columns(in: "Users").map(\.name) }
        #expect(columns == ["id", "name", "position", "updated_at"])
        let names = try database.read { try String.fetchAll($0, sql: "SELECT name FROM Users") }
        #expect(names == ["John Doe"])
    }

    @Test func upTwiceChangesNothing() throws {
        let database = try DatabaseQueue()
        try Migration.migrateUp(database)
        try Migration.migrateUp(database)
        #expect(try database.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM Users") } == 1)
    }

    @Test func downTakesTheTableAwayAndUpBringsItBack() throws {
        let database = try DatabaseQueue()
        try Migration.migrateUp(database)
        #expect(try Migration.migrateDown(database) == "createUsers")
        #expect(try database.read { try $0.tableExists("Users") } == false)
        #expect(try Migration.migrateDown(database) == nil)
        try Migration.migrateUp(database)
        #expect(try database.read { try $0.tableExists("Users") })
    }

    @Test func downOfAnEmptyDatabaseFindsNothing() throws {
        #expect(try Migration.migrateDown(try DatabaseQueue()) == nil)
    }
}
