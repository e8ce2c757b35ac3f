import DemoSite
import GRDB
import LiveCollections
import TestSite
import Testing

@testable import CollaborativeText

@Suite("The text's single writer")
struct SharedTextTests {
    private let database: DatabaseQueue
    private let outbox: Outbox

    init() throws {
        database = try [TextStore.migration].open(nil)
        outbox = try Outbox(database, trigger: Recorder()) { _ in }
    }

    private func open() throws -> SharedText {
        try SharedText(store: TextStore(database: database), outbox: outbox)
    }

    @Test("A restart keeps the text, its scalar IDs and its log")
    func restart() async throws {
        let before = try open()
        var here = TextDocument(replica: .random())
        _ = try await before.commit(try here.replace(0..<0, with: "Hello"))
        try await before.commit("Hello, all", from: "phone")
        let snapshot = await before.snapshot
        let after = try open()
        #expect(await after.snapshot == snapshot)
        #expect(snapshot.string == "Hello, all")
        guard case .entries(let entries, serial: 2) = await after.recovery(after: 0, epoch: 0)
        else {
            Issue.record("the log is gone")
            return
        }
        #expect(entries.map(\.serial) == [1, 2])
        // Known operations are not applied again.
        #expect(try await after.commit(try here.replace(5..<5, with: "!")) == 3)
    }

    @Test("A new epoch removes the IDs of deleted scalars, also from the file")
    func epochs() async throws {
        let text = try open()
        var here = TextDocument(replica: .random())
        _ = try await text.commit(
            try here.replace(0..<0, with: String(repeating: "x", count: 2_500))
        )
        _ = try await text.commit(try here.replace(1..<2_499, with: ""))
        let snapshot = await text.snapshot
        #expect(snapshot.epoch == 1)
        #expect(snapshot.string == "xx")
        #expect(
            try await database.read {
                try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM text_entries")
            } == 0
        )
        #expect(await (try open()).snapshot == snapshot)
        await #expect(throws: TextRefusal.self) {
            try await text.commit(try here.replace(0..<0, with: "late"))
        }
    }

    @Test("One typist's 6,000 letters begin no epoch, and the stored log is trimmed")
    func longLog() async throws {
        let text = try open()
        var here = TextDocument(replica: .random())
        for index in 0..<6_000 {
            _ = try await text.commit(try here.replace(index..<index, with: "x"))
        }
        let snapshot = await text.snapshot
        #expect(snapshot.epoch == 0)
        #expect(snapshot.serial == 6_000)
        let count = try await database.read {
            try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM text_entries")
        }
        #expect(try #require(count) < 5_000)
        for writer in [text, try open()] {
            #expect(await writer.snapshot == snapshot)
            // A client that is up to date or a little behind notices nothing.
            #expect(await writer.recovery(after: 6_000, epoch: 0) == .entries([], serial: 6_000))
            guard
                case .entries(let entries, serial: 6_000) =
                    await writer.recovery(after: 4_000, epoch: 0)
            else {
                Issue.record("the log does not go back to 4,000")
                return
            }
            #expect(entries.first?.serial == 4_001)
            // One that is far behind loads the text.
            #expect(await writer.recovery(after: 1, epoch: 0) == .snapshot(snapshot))
        }
    }

    @Test("A change that cannot be stored is discarded")
    func brokenFile() async throws {
        let text = try open()
        try await database.write { try $0.execute(sql: "DROP TABLE text_entries") }
        var here = TextDocument(replica: .random())
        let batch = try here.replace(0..<0, with: "Hello")
        await #expect(throws: (any Error).self) { try await text.commit(batch) }
        #expect(await text.snapshot.string == "")
    }
}
