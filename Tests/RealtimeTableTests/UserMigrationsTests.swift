import DemoSite
import GRDB
import Testing

@testable import RealtimeTable

@Suite("The table of users") struct UserMigrationsTests {
    private let migrations = [Migration.createUsers, .touchUsers]

    @Test func upCreatesTheTableWithItsFirstRow() throws {
        let database = try migrations.open(nil)
        let columns = try database.read { try $0.columns(in: "Users").map(\.name) }
        #expect(columns == ["id", "name", "position", "updated_at"])
        let names = try database.read { try String.fetchAll($0, sql: "SELECT name FROM Users") }
        #expect(names == ["John Doe"])
    }

    @Test func downDropsTheTable() throws {
        let database = try migrations.open(nil)
        #expect(try migrations.migrateDown(database) == "touchUsers")
        #expect(try migrations.migrateDown(database) == "createUsers")
        #expect(try database.read { try $0.tableExists("Users") } == false)
    }

    @Test func theTimeOfTheLastChangeIsUpdated() throws {
        let database = try migrations.open(nil)
        let long = "2001-01-01 00:00:00"
        try database.write { database in
            try database.execute(sql: "UPDATE Users SET updated_at = ?", arguments: [long])
            #expect(try ListedUser.all(database).map(\.updatedAt) == [long])
            try database.execute(sql: "UPDATE Users SET position = 2")
            #expect(try ListedUser.all(database).map(\.updatedAt) != [long])
        }
    }
}
