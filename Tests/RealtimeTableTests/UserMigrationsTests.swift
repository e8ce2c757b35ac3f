import DemoSite
import GRDB
import Testing

@testable import RealtimeTable

@Suite("The table of users") struct UserMigrationsTests {
    private let migrations = User.migrations

    @Test func upCreatesTheTableWithEightPeople() throws {
        let database = try migrations.open(nil)
        let columns = try database.read { try $0.columns(in: "Users").map(\.name) }
        #expect(columns == ["id", "name", "position", "updated_at"])
        let names = try database.read { database in
            try String.fetchAll(database, sql: "SELECT name FROM Users ORDER BY position")
        }
        #expect(names.count == 8)
        #expect(Set(names).count == 8)
        #expect(names.first == "John Doe")
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
            #expect(try ListedUser.all(database).allSatisfy { $0.updatedAt == long })
            try database.execute(sql: "UPDATE Users SET position = 2")
            #expect(try ListedUser.all(database).allSatisfy { $0.updatedAt != long })
        }
    }
}
