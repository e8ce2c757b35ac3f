import GRDB
import Testing

@testable import SQLite
@testable import Webhooks

@Suite("SQLite") struct SQLiteDatabaseTests {
    private func database(_ path: String? = nil) throws -> SQLiteDatabase {
        try SQLiteDatabase(path: path, busyTimeout: 10)
    }

    @Test func keepsValues() throws {
        let database = try database()
        let texts = ["", "żółć", "a\0b"]
        let blobs: [[UInt8]] = [[], [0, 1, 255], [UInt8](repeating: 7, count: 100_000)]
        try database.write { connection in
            try connection.execute("CREATE TABLE t (i INTEGER, t TEXT NOT NULL, b BLOB NOT NULL)")
            for (text, blob) in zip(texts, blobs) {
                let values: [SQLiteValue] = [.integer(.min), .text(text), .blob(blob[...])]
                try connection.execute("INSERT INTO t VALUES (?, ?, ?)", values)
            }
            #expect(connection.changeCount == 1)
        }
        var found: [(Int64, String, [UInt8])] = []
        try database.access { connection in
            try connection.forEachRow("SELECT * FROM t") { row in
                found.append((row.integer("i"), row.text("t"), row.blob("b")))
            }
        }
        #expect(found.map(\.0) == [.min, .min, .min])
        #expect(found.map(\.1) == texts)
        #expect(found.map(\.2) == blobs)
    }

    @Test func changesAllOrNothing() throws {
        struct Reason: Error {}
        let database = try database()
        try database.write { try $0.execute("CREATE TABLE t (i INTEGER)") }
        #expect(throws: Reason.self) {
            try database.write { connection in
                try connection.execute("INSERT INTO t VALUES (1)")
                throw Reason()
            }
        }
        #expect(try database.access { try $0.integer("SELECT COUNT(*) FROM t") } == 0)
        #expect(try database.access { try $0.integer("SELECT MAX(i) FROM t") } == nil)
    }

    @Test func namesTheStatementThatFailed() throws {
        let database = try database()
        let error = #expect(throws: SQLiteError.self) {
            try database.access { try $0.execute("SELECT * FROM nowhere") }
        }
        #expect(error?.code == 1)
        let text =
            "SQLite error 1: no such table: nowhere - while executing `SELECT * FROM nowhere`"
        #expect(error?.description == text)
    }

    @Test func refusesAFolderThatIsNotThere() {
        let error = #expect(throws: SQLiteError.self) { try database("/nowhere/at/all") }
        #expect(error?.description == "SQLite error 14: unable to open database file")
    }

    @Test func refusesEverythingOnceItIsClosed() throws {
        let database = try database()
        database.close()
        database.close()
        #expect(throws: SQLiteError.self) { try database.access { try $0.execute("SELECT 1") } }
    }

    @Test func waitsForAnotherProcessAndThenSaysSo() throws {
        let folder = try TemporaryFolder()
        let path = folder.path()
        let database = try database(path)
        let holder = try FileHolder(path: path)
        let error = #expect(throws: SQLiteError.self) { try database.write { _ in } }
        #expect(error?.description.contains("database is locked") == true)
        try holder.release()
        try database.write { _ in }
    }

    /// Earlier brokers used GRDB, which records its migrations in a table.
    @Test func opensTheFileOfAnEarlierBroker() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path()
        var migrator = DatabaseMigrator()
        migrator.registerMigration("deliveries and dead letters") { database in
            for statement in WebhookQueueSchema.statements { try database.execute(sql: statement) }
        }
        do {
            var configuration = Configuration()
            configuration.journalMode = .wal
            let earlier = try DatabaseQueue(path: path, configuration: configuration)
            try migrator.migrate(earlier)
            try await earlier.write { database in
                try database.execute(
                    sql: "INSERT INTO deliveries VALUES (7, '1', 'http://b', 0, 5, 'a', x'7B7D')"
                )
            }
            try earlier.close()
        }
        let queue = try WebhookQueue(path: path)
        let changes = PendingWrites(deadLetterCountMax: 1, deadLetterLengthMax: 1)
        let found = try queue.exchange(changes, WebhookSettings(), isOpened: true)
        #expect(found.deliveries.map(\.id) == [7])
        #expect(found.deliveries.first?.events == Array("{}".utf8))
    }
}
