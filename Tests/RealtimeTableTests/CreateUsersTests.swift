import DemoSite
import GRDB
import Testing

@testable import RealtimeTable

@Suite("The table of users") struct CreateUsersTests {
    @Test func upMakesTheTableWithItsFirstRow() throws {
        let database = try [Migration.createUsers].open(nil)
        let columns = try database.read { try $0.columns(in: "Users").map(\.name) }
        #expect(columns == ["id", "name", "position", "updated_at"])
        let names = try database.read { try String.fetchAll($0, sql: "SELECT name FROM Users") }
        #expect(names == ["John Doe"])
    }

    @Test func downTakesTheTableAway() throws {
        let database = try [Migration.createUsers].open(nil)
        #expect(try [Migration.createUsers].migrateDown(database) == "createUsers")
        #expect(try database.read { try $0.tableExists("Users") } == false)
    }
}
