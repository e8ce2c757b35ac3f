import GRDB
import HTTP1
import Testing

@testable import DemoSite
import LiveRows

@Suite("A live list in the database") struct ListStoreTests {
    private let database: DatabaseQueue
    private let store: ListStore<Entry>

    init() throws {
        database = try [Migration.lists, Entry.migration].open(nil)
        store = ListStore(database, limits: Self.limits)
    }

    private static var limits: ListLimits {
        var limits = ListLimits(rowsMax: 6)
        limits.memoryMax = 3
        limits.eventLengthMax = 300
        return limits
    }

    private func commit(
        _ mutation: String? = nil,
        _ operations: ListOperation<Entry>...
    ) throws -> ListCommit<Entry>? {
        try store.commit(mutation) { _ in operations }
    }

    private func ids() throws -> String { try store.snapshot().rows.map(\.id).joined() }

    @Test func beginsWithItsTable() throws {
        #expect(try store.snapshot().revision == 0)
        #expect(try ids() == "abcd")
    }

    @Test func aCommitIsOneRevision() throws {
        let commit = try #require(
            try commit("m", .put(Entry("n"), after: "a"), .remove("c"), .update(Entry("d", "new")))
        )
        #expect(commit.change.revision == 1)
        #expect(commit.steps.map { $0.before.joined() } == ["abcd", "anbcd", "anbd"])
        #expect(commit.steps.map { $0.after.joined() } == ["anbcd", "anbd", "anbd"])
        #expect(try store.snapshot().revision == 1)
        #expect(try store.snapshot().rows.last == Entry("d", "new"))
        #expect(
            commit.data == """
                {"mutation":"m","operations":[\
                {"after":"a","op":"put","row":{"id":"n","text":"text"}},{"id":"c","op":"remove"},\
                {"op":"update","row":{"id":"d","text":"new"}}],"revision":1}
                """
        )
    }

    @Test func anEditWithoutEffectIsPublished() throws {
        let commit = try #require(try commit("m", .remove("?")))
        #expect(commit.data == #"{"mutation":"m","operations":[],"revision":1}"#)
    }

    @Test func positionsAreAlwaysOneTwoThree() throws {
        _ = try commit(nil, .remove("b"), .move("d", after: nil), .put(Entry("n"), after: "a"))
        let ranks = try database.read { database in
            try Int.fetchAll(database, sql: "SELECT position FROM Entries ORDER BY position")
        }
        #expect(ranks == [1, 2, 3, 4])
        #expect(try ids() == "danc")
    }

    @Test func aMutationIsAppliedOnce() throws {
        #expect(try commit("m", .remove("a")) != nil)
        #expect(try commit("m", .remove("b")) == nil)
        #expect(try ids() == "bcd")
        #expect(try store.revision(of: "m") == 1)
        #expect(try store.revision(of: "n") == nil)
    }

    @Test func aRemovedAnchorIsRememberedForSomeCommits() throws {
        _ = try commit(nil, .remove("b"))
        _ = try commit(nil, .put(Entry("n"), after: "b"))
        #expect(try ids() == "ancd")
        for text in ["x", "y"] { _ = try commit(nil, .update(Entry("a", text))) }
        _ = try commit(nil, .put(Entry("m"), after: "b"))
        #expect(try ids() == "ancdm")
    }

    @Test func rememberedCommitsAreLimited() throws {
        for number in 0..<10 {
            _ = try commit("m\(number)", .put(Entry("n"), after: nil), .remove("n"))
        }
        let counts = try database.read { database in
            try ["ListMutations", "ListRemovals"].map {
                try Int.fetchOne(database, sql: "SELECT COUNT(*) FROM \($0)")
            }
        }
        #expect(counts == [3, 1])
    }

    @Test func aRefusalLeavesTheListUnchanged() throws {
        #expect(throws: RequestError.tooLong(field: "text", limit: 5)) {
            try commit("m", .remove("a"), .put(Entry("n", "too long"), after: nil))
        }
        #expect(throws: RequestError.empty(field: "text")) {
            try commit("m", .remove("a"), .update(Entry("b", " ")))
        }
        let full = RequestError.refused(409, "The list is full: the limit is 6 rows.")
        #expect(throws: full) {
            try commit(
                "m",
                .put(Entry("1"), after: nil),
                .put(Entry("2"), after: nil),
                .put(Entry("3"), after: nil)
            )
        }
        let error = #expect(throws: RequestError.self) {
            try store.commit("m") { _ in (0..<20).map { _ in .update(Entry("a")) } }
        }
        #expect(error?.description.contains("of at most 300") == true)
        #expect(try store.snapshot().revision == 0)
        #expect(try ids() == "abcd")
        // A refused mutation can be repeated.
        #expect(try commit("m", .remove("a")) != nil)
    }

    @Test func aFullListCanShrinkAndChange() throws {
        _ = try commit(nil, .put(Entry("e"), after: "d"), .put(Entry("f"), after: "e"))
        _ = try commit(nil, .put(Entry("g"), after: "f"), .remove("a"))
        #expect(try ids() == "bcdefg")
    }
}
