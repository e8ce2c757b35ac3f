import Dispatch
import FanfareClient
import FanfareTesting
import LiveRows
import Testing

@testable import LiveCollections

@Suite("Live lists") @MainActor struct LiveListTests {
    private let source = ScriptedSource()

    private func liveList(_ options: ListOptions = impatient) async throws -> LiveList<Player> {
        try await source.liveList(options)
    }

    private func change(
        _ revision: UInt64,
        _ operations: ListOperation<Player>...,
        mutation: String? = nil
    ) -> SourceEvent<Player> {
        .change(ListChange(revision: revision, mutation: mutation, operations: operations))
    }

    private func ids(_ list: LiveList<Player>) -> [Int] { list.rows.map(\.id) }

    @Test("A list is loading until its source has sent all rows, then follows each change")
    func followsChanges() async throws {
        let early = LiveList(ScriptedSource(), options: impatient)
        #expect(early.state.isLoading)
        #expect(early.rows.isEmpty)
        let list = try await liveList()
        #expect(ids(list) == [1, 2, 3])
        await source.say(change(6, .move(1, after: 3)))
        await source.say(change(7, .put(Player(4), after: nil)))
        try await until { list.revision == 7 }
        #expect(ids(list) == [4, 2, 3, 1])
        #expect(list.row(4) == Player(4))
        #expect(list.index(of: 1) == 3)
    }

    @Test("An observer receives all rows first, and each update is relative to the previous one")
    func observes() async throws {
        let list = try await liveList()
        var table = TableOracle<Player>(rows: [])
        var numbers: [Int] = []
        let observation = list.observe { update in
            numbers.append(update.number)
            #expect(throws: Never.self) { try table.apply(update.changes, rows: update.rows) }
        }
        #expect(table.cells == [Player(1), Player(2), Player(3)], "told before observe returns")
        list.edit { $0.move(1, after: 3) }
        #expect(table.cells.map(\.id) == [2, 3, 1], "told before edit returns")
        await source.say(change(6, .update(Player(2, "two")), .remove(3)))
        try await until { list.revision == 6 }
        // The anchor of the move is removed: until the writer decides, the row stays.
        #expect(table.cells == [Player(1), Player(2, "two")])
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 + 1 == $1 })
        observation.cancel()
        list.edit { $0.remove(1) }
        #expect(table.cells.count == 2, "not told after it was cancelled")
    }

    @Test("Releasing the token keeps the callback, cancelling it ends the callback")
    func observerLifetime() async throws {
        let list = try await liveList()
        var count = 0
        list.observe { _ in count += 1 }
        list.edit { $0.remove(1) }
        #expect(count == 2)
        let token = list.observe { _ in count += 10 }
        token.cancel()
        list.edit { $0.remove(2) }
        #expect(count == 13)
    }

    @Test("Changes that arrive while the main actor is busy are coalesced into one update")
    func coalesces() async throws {
        let list = try await liveList()
        var updates: [ListUpdate<Player>] = []
        let observation = list.observe { updates.append($0) }
        // The source sends all changes while this actor is blocked.
        let isTold = DispatchSemaphore(value: 0)
        Task.detached { [source] in
            for number in 1...50 {
                let put = ListOperation.put(Player(100 + number), after: nil)
                await source.say(
                    .change(
                        ListChange(
                            revision: UInt64(5 + number),
                            mutation: nil,
                            operations: [put]
                        )
                    )
                )
            }
            isTold.signal()
        }
        hold(until: isTold)
        try await until { list.revision == 55 }
        #expect(list.rows.count == 53)
        #expect(updates.count == 2)
        #expect(updates[1].changes == RowChanges(inserts: Array(0..<50)))
        observation.cancel()
    }

    /// Blocks this actor.
    private func hold(until semaphore: DispatchSemaphore) { semaphore.wait() }

    @Test("A released list ends its source, and its pending edits throw")
    func lifetime() async throws {
        var list: LiveList<Player>? = try await liveList()
        let edit = list?.edit { $0.remove(1) }
        weak let gone = list
        list = nil
        try await until { source.isCancelled }
        #expect(gone == nil)
        await #expect(throws: LiveListError.ended) { try await edit?.confirmed() }
    }

    @Test("The sequence of updates begins with all rows, and a slow reader gets fewer updates")
    func sequence() async throws {
        let list = try await liveList()
        var table = TableOracle<Player>(rows: [])
        var updates = list.updates.makeAsyncIterator()
        let first = try #require(await updates.next())
        try table.apply(first.changes, rows: first.rows)
        list.edit { $0.remove(1) }
        list.edit { $0.move(3, after: nil) }
        list.edit { $0.append(Player(4)) }
        let second = try #require(await updates.next())
        try table.apply(second.changes, rows: second.rows)
        #expect(table.cells.map(\.id) == [3, 2, 4])
    }

    @Test("A sequence of updates ends with the list, which it does not retain")
    func sequenceEnds() async throws {
        var list: LiveList<Player>? = LiveList(source, options: impatient)
        let updates = try #require(list?.updates)
        let reader = Task { @MainActor in
            var count = 0
            for await _ in updates { count += 1 }
            return count
        }
        await Task.yield()
        list = nil
        #expect(await reader.value <= 1)
    }
}
