import Foundation
import GRDB
import TestSite
import Testing

@testable import DemoSite

/// Entries in the order of their texts, with a version that a trigger increments.
@Suite("The result of a query as a live list") struct PublishedQueryTests {
    private let recorder = Recorder()
    private let outbox: Outbox
    private let database: DatabaseQueue
    private let query: PublishedQuery<Entry>

    init() throws {
        let name = "PublishedQueryTests-\(UUID().uuidString).sqlite"
        let path = FileManager.default.temporaryDirectory.appending(path: name).path
        database = try [Self.migration].open(path)
        outbox = try Outbox(database, trigger: recorder) { _ in }
        query = PublishedQuery(channel: "entries", outbox: outbox)
        query.follow(database) { database in
            QueryResult(
                version: try Int64.fetchOne(database, sql: "SELECT version FROM Version") ?? 0,
                rows: try Entry.fetchAll(
                    database,
                    sql: "SELECT id, text FROM \(Entry.databaseTableName) ORDER BY text"
                )
            )
        }
    }

    private static var migration: Migration {
        Migration("createEntriesAndVersion") { database in
            try database.execute(
                sql: """
                    CREATE TABLE \(Entry.databaseTableName) (id TEXT PRIMARY KEY, text TEXT);
                    CREATE TABLE Version (version INTEGER);
                    INSERT INTO Version VALUES (10);
                    CREATE TRIGGER counted AFTER INSERT ON \(Entry.databaseTableName) BEGIN
                        UPDATE Version SET version = version + 1;
                    END
                    """
            )
        } down: { _ in
        }
    }

    private func insert(_ id: String, _ text: String, by writer: DatabaseQueue) throws {
        try writer.write { database in
            try database.execute(
                sql: "INSERT INTO \(Entry.databaseTableName) VALUES (?, ?)",
                arguments: [id, text]
            )
        }
    }

    /// Opens a connection of another process, which waits while the monitor of this one writes.
    private func otherConnection() throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        configuration.busyMode = .timeout(60)
        return try DatabaseQueue(path: database.path, configuration: configuration)
    }

    /// Waits until the query returns these texts.
    private func await(_ texts: [String]) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while (try? await query.snapshot().rows.map(\.text)) != texts {
            try #require(ContinuousClock.now < deadline, "no result \(texts) in 60 s")
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    @Test func theFirstResultMakesClientsReload() async throws {
        let snapshot = try await query.snapshot()
        #expect(snapshot == ListSnapshot(revision: 10, rows: []))
        await outbox.close(within: .seconds(60))
        #expect(
            recorder.events.map(\.data) == [#"{"mutation":null,"operations":[],"revision":10}"#]
        )
    }

    @Test func everyWriteIsPublished() async throws {
        try await self.await([])
        try insert("1", "b", by: database)
        #expect(await query.revision(with: 11) == 11)
        try insert("2", "a", by: database)
        #expect(await query.revision(with: 12) == 12)
        await outbox.close(within: .seconds(60))
        #expect(recorder.events.map(\.name) == Array(repeating: "list_changed", count: 3))
        #expect(recorder.events.map(\.channel) == Array(repeating: "entries", count: 3))
        let put =
            #"{"mutation":null,"operations":[{"after":null,"op":"put","row":{"id":"2","text":"a"}}],"revision":12}"#
        #expect(recorder.events.last?.data == put)
    }

    @Test func writesOfAnotherConnectionAreDetected() async throws {
        try await self.await([])
        let monitor = try ExternalChangeMonitor(database, pause: .milliseconds(20))
        try insert("1", "from elsewhere", by: otherConnection())
        try await self.await(["from elsewhere"])
        withExtendedLifetime(monitor) {}
    }

    @Test func writesOfAnotherConnectionAreDetectedWhileItHoldsALock() async throws {
        try await self.await([])
        let pause = Duration.milliseconds(20)
        let monitor = try ExternalChangeMonitor(database, pause: pause)
        let writer = try otherConnection()
        try insert("1", "from elsewhere", by: writer)
        try await writer.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        // The lock also blocks the notification of the observers.
        try await Task.sleep(for: pause * 5)
        try await writer.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        try await self.await(["from elsewhere"])
        withExtendedLifetime(monitor) {}
    }

    @Test func aChangeTooLargeForAnEventSkipsARevision() async throws {
        try await self.await([])
        try await database.write { database in
            for id in 1...300 {
                try database.execute(
                    sql: "INSERT INTO \(Entry.databaseTableName) VALUES (?, 'entry')",
                    arguments: [id]
                )
            }
        }
        #expect(await query.revision(with: 310) == 12)
        await outbox.close(within: .seconds(60))
        #expect(recorder.events.last?.data == #"{"mutation":null,"operations":[],"revision":12}"#)
    }

    @Test func aFailedQueryIsReportedAndRetried() async throws {
        try insert("1", "a", by: database)
        try await self.await(["a"])
        let table = Entry.databaseTableName
        try await database.write { database in
            try database.execute(sql: "ALTER TABLE \(table) RENAME TO Hidden")
            try database.notifyChanges(in: .fullDatabase)
        }
        let deadline = ContinuousClock.now + .seconds(60)
        while !recorder.events.contains(where: { $0.name == "list_failed" }) {
            try #require(ContinuousClock.now < deadline, "no failure was published")
            try await Task.sleep(for: .milliseconds(10))
        }
        await #expect(throws: RequestError.self) { try await query.snapshot() }
        try await database.write { try $0.execute(sql: "ALTER TABLE Hidden RENAME TO \(table)") }
        try await self.await(["a"])
        let data = try #require(recorder.events.first { $0.name == "list_failed" }).data
        #expect(data.contains("The query cannot be answered: no such table: \(table)."))
    }
}
