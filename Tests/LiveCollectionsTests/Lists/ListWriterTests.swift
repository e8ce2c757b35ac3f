import LiveCollections
import LiveRows
import Testing

@Suite("The writer of a list") struct ListWriterTests {
    private func writer() throws -> ListWriter<Player> {
        try ListWriter([Player(1), Player(2), Player(3)], revision: 7)
    }

    @Test("An edit is one change with the next revision, and a repeated edit is applied once")
    func once() throws {
        var writer = try writer()
        let commit = ListCommit<Player>(
            mutation: "a",
            operations: [.move(1, after: 3), .remove(2)]
        )
        let first = try writer.commit(commit)
        #expect(first.revision == 8)
        #expect(
            first.change == ListChange(revision: 8, mutation: "a", operations: commit.operations)
        )
        #expect(writer.snapshot == ListSnapshot(revision: 8, rows: [Player(3), Player(1)]))
        let second = try writer.commit(commit)
        #expect(second.revision == 8)
        #expect(second.change == nil)
        #expect(writer.revision == 8)
    }

    @Test("A removed anchor is replaced by the nearest preceding row that exists")
    func anchors() throws {
        var writer = try writer()
        _ = try writer.commit(ListCommit(mutation: "a", operations: [.remove(2)]))
        _ = try writer.commit(ListCommit(mutation: "b", operations: [.remove(1)]))
        let put = try writer.commit(
            ListCommit(mutation: "c", operations: [.put(Player(4), after: 2)])
        )
        #expect(put.change?.operations == [.put(Player(4), after: nil)])
        #expect(writer.snapshot.rows.map(\.id) == [4, 3])
        let unknown = try writer.commit(
            ListCommit(
                mutation: "d",
                operations: [.put(Player(5), after: 99), .move(4, after: 98)]
            )
        )
        #expect(writer.snapshot.rows.map(\.id) == [4, 3, 5])
        #expect(unknown.revision == 11)
    }

    @Test("An edit for another revision is refused")
    func ifRevision() throws {
        var writer = try writer()
        let commit = ListCommit<Player>(mutation: "a", operations: [.remove(1)], ifRevision: 6)
        #expect(throws: LiveListError.self) { try writer.commit(commit) }
        #expect(writer.snapshot.rows.count == 3)
        let good = ListCommit<Player>(mutation: "b", operations: [.remove(1)], ifRevision: 7)
        #expect(try writer.commit(good).revision == 8)
    }

    @Test("Two rows with the same id are refused with the id")
    func duplicates() {
        #expect(throws: DuplicateRow(id: "1", first: 0, second: 1)) {
            try ListWriter([Player(1), Player(1)])
        }
    }
}
