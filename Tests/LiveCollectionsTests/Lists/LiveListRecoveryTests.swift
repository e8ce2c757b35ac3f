import Dispatch
import FanfareClient
import LiveRows
import Testing

@testable import LiveCollections

@Suite("Faults of a live list's source") @MainActor struct LiveListRecoveryTests {
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

    @Test("A snapshot with too many rows, or duplicate ids, is reported; the rows stay")
    func badSnapshots() async throws {
        var options = impatient
        options.rowsMax = 4
        let list = try await liveList(options)
        await source.say(.subscribed)
        try await until { source.fetchCount == 1 }
        source.answerFetch(9, (0..<5).map { Player($0) })
        try await until { list.state.error != nil }
        #expect(list.state.error as? LiveListError == .tooManyRows(count: 5, limit: 4))
        await source.say(.subscribed)
        try await until { source.fetchCount == 1 }
        source.answerFetch(9, [Player(1), Player(2), Player(1)])
        try await until { list.state.error is DuplicateRow }
        #expect(list.state.error as? DuplicateRow == DuplicateRow(id: "1", first: 0, second: 2))
        #expect(ids(list) == [1, 2, 3])
        await source.say(.subscribed)
        try await until { source.fetchCount == 1 }
        source.answerFetch(9, [Player(7)])
        try await until { list.state.isLive }
        #expect(ids(list) == [7])
    }

    @Test("A missing revision fetches all rows; changes during the fetch are not lost")
    func recoversFromGap() async throws {
        let list = try await liveList()
        await source.say(change(7, .put(Player(7), after: nil)))
        try await until { source.fetchCount == 1 }
        await source.say(change(8, .put(Player(8), after: nil)))
        source.answerFetch(7, [Player(7), Player(6), Player(1)])
        try await until { list.revision == 8 }
        #expect(ids(list) == [8, 7, 6, 1])
    }

    @Test("A change that is older than the rows is ignored")
    func ignoresOld() async throws {
        let list = try await liveList()
        await source.say(change(5, .remove(1)))
        await source.say(change(2, .remove(2)))
        await source.say(change(6, .remove(3)))
        try await until { list.revision == 6 }
        #expect(ids(list) == [1, 2])
    }

    @Test("A failed fetch is reported and retried; a failed source is restarted")
    func triesAgain() async throws {
        let list = try await liveList()
        source.fail(Late())
        try await until { list.state.error is Late }
        try await until { source.listens == 2 && source.isListening }
        await source.say(.subscribed)
        try await until { source.fetchCount == 1 }
        source.answerFetch(.failure(Late()))
        try await until { source.fetchCount == 1 }
        source.answerFetch(8, [Player(3)])
        try await until { list.state.isLive }
        #expect(ids(list) == [3])
    }
}
