import FanfareOutbox
import FanfareStorage
import Foundation
import GRDB
import Synchronization
import Testing

/// A file for one test.
final class TemporaryFile {
    let path = FileManager.default.temporaryDirectory
        .appending(path: "outbox-\(UUID().uuidString).sqlite").path

    deinit {
        for suffix in ["", "-wal", "-shm", "-journal"] {
            try? FileManager.default.removeItem(atPath: path + suffix)
        }
    }
}

extension OutboxEvent {
    /// The event of a number, with itself as its key.
    init(_ number: Int) {
        self.init(key: "key-\(number)", name: "changed", channel: "rows", data: "\(number)")
    }
}

@Suite("An outbox in SQLite", .timeLimit(.minutes(1))) struct SQLiteOutboxTests {
    private let file = TemporaryFile()

    @Test("Events keep their order in the file")
    func keepsOrder() async throws {
        let store = try SQLiteOutbox(path: file.path)
        for number in 1...40 { try await store.append(OutboxEvent(number)) }
        for number in [2, 1, 17] { try await store.remove("key-\(number)") }
        try await store.remove("unknown")
        try await store.append(OutboxEvent(41))

        let again = try SQLiteOutbox(path: file.path)
        let expected = (1...41).filter { ![1, 2, 17].contains($0) }.map { OutboxEvent($0) }
        #expect(try await again.first(100) == expected)
        #expect(try await again.first(3) == Array(expected.prefix(3)))
    }

    @Test(
        "Any text is kept as it is",
        arguments: ["", "a\u{0}b", "\u{0}", "'\"\\;--", "e\u{301}👩‍👩‍👧"]
    )
    func keepsAnyText(text: String) async throws {
        let event = OutboxEvent(key: "k" + text, name: text, channel: text, data: text)
        let store = try SQLiteOutbox(path: file.path)
        try await store.append(event)
        let kept = try await store.first(1)
        #expect(kept.map { Array($0.data.utf8) } == [Array(text.utf8)])
        #expect(kept == [event])
        try await store.remove(event.key)
        #expect(try await store.first(1) == [])
    }

    @Test("An event of a full store is refused with the limit, until one is removed")
    func isLimited() async throws {
        let store = try SQLiteOutbox(path: file.path, countMax: 2)
        for number in 1...2 { try await store.append(OutboxEvent(number)) }
        let error = await #expect(throws: OutboxFull.self) {
            try await store.append(OutboxEvent(3))
        }
        #expect(error?.description.contains("2 events") == true)
        try await store.remove("key-1")
        try await store.append(OutboxEvent(3))
        #expect(try await store.first(9).map(\.key) == ["key-2", "key-3"])
    }

    @Test("A key is in the store once")
    func refusesAKnownKey() async throws {
        let store = try SQLiteOutbox(path: file.path)
        try await store.append(OutboxEvent(1))
        await #expect(throws: DatabaseError.self) { try await store.append(OutboxEvent(1)) }
        #expect(try await store.first(9).count == 1)
    }

    @Test(
        "A change of the app and its event are kept together, or not at all",
        arguments: [true, false]
    )
    func isTransactional(commits: Bool) async throws {
        struct Rollback: Error {}
        let database = try DatabaseQueue(path: file.path)
        try await database.write { try $0.execute(sql: "CREATE TABLE rows (id INTEGER)") }
        // A name that needs quotes.
        let store = try SQLiteOutbox(database, table: "events to send")
        let appended = Atomic(0)
        store.onAppend { appended.add(1, ordering: .relaxed) }
        do {
            try await database.write { database in
                try database.execute(sql: "INSERT INTO rows VALUES (7)")
                try store.append(OutboxEvent(7), in: database)
                #expect(appended.load(ordering: .relaxed) == 0)
                if !commits { throw Rollback() }
            }
        } catch is Rollback {}
        let rows = try await database.read { try Int.fetchAll($0, sql: "SELECT id FROM rows") }
        #expect(rows == (commits ? [7] : []))
        #expect(try await store.first(9) == (commits ? [OutboxEvent(7)] : []))
        #expect(appended.load(ordering: .relaxed) == (commits ? 1 : 0))
    }

    @Test("A file that is no database is an error")
    func refusesAnotherFile() throws {
        try Data(repeating: 7, count: 4096).write(to: URL(filePath: file.path))
        #expect(throws: DatabaseError.self) { try SQLiteOutbox(path: file.path) }
    }
}
