import LiveRows
import Testing

@testable import LiveCollections

@Suite("An edit's body that uses the list") @MainActor struct DetachedEditTests {
    private func ids(_ list: LiveList<Player>) -> [Int] { list.rows.map(\.id) }

    @Test("It can read the list, for example its revision")
    func readsTheList() async throws {
        let source = try LocalSource([Player(1), Player(2)])
        let list = LiveList(source)
        let edit = list.edit { editor in
            editor.ifRevision = list.revision
            #expect(list.row(2) == Player(2))
            #expect(list.index(of: 2) == 1)
            #expect(list.pendingEditCount == 0)
            editor.remove(2)
            #expect(list.row(2) != nil, "the list changes when the body has returned")
        }
        #expect(ids(list) == [1])
        try await edit.confirmed()
        #expect(source.rows == [Player(1)])
    }

    @Test("An edit inside an edit is applied first, and neither is lost")
    func nested() async throws {
        let source = try LocalSource([Player(1), Player(2), Player(3)])
        let list = LiveList(source)
        var inner: PendingEdit?
        let outer = list.edit { editor in
            editor.update(2) { $0.name = "outer" }
            inner = list.edit { $0.move(1, after: 3) }
            editor.append(Player(4))
        }
        #expect(inner?.mutation != nil)
        #expect(list.pendingEditCount == 2)
        try await inner?.confirmed()
        try await outer.confirmed()
        try await until { list.pendingEditCount == 0 }
        #expect(Set(ids(list)) == [1, 2, 3, 4])
        #expect(list.row(2)?.name == "outer")
        #expect(try #require(list.index(of: 1)) > (try #require(list.index(of: 3))))
        #expect(Array(list.rows) == source.rows)
    }

    @Test("An operation on a row that an edit inside the body has removed has no effect")
    func removedMeanwhile() async throws {
        let source = try LocalSource([Player(1), Player(2)])
        let list = LiveList(source)
        let outer = list.edit { editor in
            editor.update(2) { $0.name = "outer" }
            list.edit { $0.remove(2) }
        }
        #expect(outer.mutation == nil, "nothing is left to send")
        try await until { list.pendingEditCount == 0 }
        #expect(source.rows == [Player(1)])
    }

    @Test("A change of the source between the body's begin and its end is kept")
    func changedMeanwhile() throws {
        var replica = ListReplica<Player>(options: impatient)
        replica.began()
        _ = replica.arrived(ListSnapshot(revision: 5, rows: [Player(1), Player(2)]))
        var editor = replica.editor()
        editor.move(1, after: 2)
        _ = replica.changed(
            ListChange(revision: 6, mutation: nil, operations: [.put(Player(3), after: 2)])
        )
        _ = replica.commit(editor, mutation: "m")
        #expect(replica.rows.map(\.id) == [2, 1, 3])
        _ = replica.changed(
            ListChange(revision: 7, mutation: nil, operations: [.update(Player(3, "three"))])
        )
        #expect(replica.rows == [Player(2), Player(1), Player(3, "three")])
    }
}
