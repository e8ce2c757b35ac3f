import DemoSite
import GRDB
import Testing

@Suite("Migrations") struct MigrationTests {
    private let migrations = ["First", "Second"].map { name in
        Migration(name) {
            try $0.execute(sql: "CREATE TABLE \(name) (id INTEGER)")
        } down: {
            try $0.execute(sql: "DROP TABLE \(name)")
        }
    }

    private func tables(_ database: DatabaseQueue) throws -> [String] {
        try database.read { database in
            try ["First", "Second"].filter { try database.tableExists($0) }
        }
    }

    @Test func upTwiceChangesNothing() throws {
        let database = try migrations.open(nil)
        try database.write { try $0.execute(sql: "INSERT INTO First VALUES (1)") }
        try migrations.migrateUp(database)
        #expect(try database.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM First") } == 1)
    }

    @Test func downRevertsTheNewestAndUpAppliesItAgain() throws {
        let database = try migrations.open(nil)
        #expect(try migrations.migrateDown(database) == "Second")
        #expect(try tables(database) == ["First"])
        #expect(try migrations.migrateDown(database) == "First")
        #expect(try migrations.migrateDown(database) == nil)
        try migrations.migrateUp(database)
        #expect(try tables(database) == ["First", "Second"])
    }

    @Test func downRevertsTheLastAppliedNotTheLastListed() throws {
        let database = try [migrations[1]].open(nil)
        // A new demo may be listed before one whose migrations were applied.
        try migrations.migrateUp(database)
        #expect(try migrations.migrateDown(database) == "First")
    }

    @Test func downOfAnEmptyDatabaseFindsNothing() throws {
        #expect(try migrations.migrateDown(try DatabaseQueue()) == nil)
    }
}
