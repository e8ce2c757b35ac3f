import FanfareClient
import FanfareTesting
import LiveRows
import Testing

@testable import LiveCollections

@Suite("Snapshots that a list cannot show", .timeLimit(.minutes(2))) @MainActor
struct UnusableSnapshotTests {
    private let source = ScriptedSource()
    private let clock = ManualClock()
    private let twice = [Player(1), Player(2), Player(1)]

    private func options(rowsMax: Int = 100) -> ListOptions {
        var options = impatient
        options.clock = clock.clientClock
        options.checkInterval = nil
        options.rowsMax = rowsMax
        return options
    }

    private func removal(_ revision: UInt64, _ id: Int) -> SourceEvent<Player> {
        .change(ListChange(revision: revision, mutation: nil, operations: [.remove(id)]))
    }

    /// Answers the request for all rows with ones that cannot be shown.
    private func answerBadly(_ list: LiveList<Player>) async throws {
        try await until { source.fetchCount == 1 }
        source.answerFetch(9, twice)
        try await until { list.state.error is DuplicateRow }
    }

    @Test("Without a change the list asks after five minutes, then ten, and says why meanwhile")
    func pauses() async throws {
        let list = try await source.liveList(options())
        await source.say(.subscribed)
        for minutes in [5, 10, 20, 40, 80, 80] {
            try await answerBadly(list)
            let short = Duration.seconds(minutes * 6)
            try await clock.waitForSleep(of: short)
            clock.advance(by: short)
            try await clock.waitForSleep(of: short * 9)
            #expect(source.fetchCount == 0)
            #expect(list.state.error as? DuplicateRow == DuplicateRow(id: "1", first: 0, second: 2))
            #expect(list.rows.map(\.id) == [1, 2, 3])
            clock.advance(by: short * 9)
        }
        try await until { source.fetchCount == 1 }
        source.answerFetch(9, [Player(7)])
        try await until { list.state.isLive }
        #expect(list.rows == [Player(7)])
    }

    @Test("A list whose first rows cannot be shown stays empty until they can")
    func firstRows() async throws {
        let list = LiveList(source, options: options(rowsMax: 2))
        try await until { source.isListening }
        await source.say(.subscribed)
        try await until { source.fetchCount == 1 }
        source.answerFetch(9, [Player(1), Player(2), Player(3)])
        try await until { list.state.error != nil }
        #expect(list.state.error as? LiveListError == .tooManyRows(count: 3, limit: 2))
        try await clock.waitForSleep(of: .seconds(30))
        clock.advance(by: .seconds(30))
        try await clock.waitForSleep(of: .seconds(270))
        #expect(source.fetchCount == 0)
        #expect(list.rows.isEmpty)
        await source.say(removal(10, 3))
        try await until { source.fetchCount == 1 }
        source.answerFetch(10, [Player(1), Player(2)])
        try await until { list.state.isLive && list.rows.count == 2 }
    }

    @Test("A change within the first tenth of the pause causes one request at its end")
    func earlyChange() async throws {
        let list = try await source.liveList(options())
        await source.say(.subscribed)
        try await answerBadly(list)
        try await clock.waitForSleep(of: .seconds(30))
        for revision in 6...8 as ClosedRange<UInt64> {
            await source.say(removal(revision, Int(revision) - 5))
        }
        // The list follows its changes meanwhile, and still says that its last snapshot was unusable.
        try await until { list.rows.isEmpty }
        #expect(list.state.error is DuplicateRow)
        #expect(source.fetchCount == 0)
        clock.advance(by: .seconds(30))
        try await until { source.fetchCount == 1 }
        source.answerFetch(9, [Player(4)])
        try await until { list.state.isLive && list.rows == [Player(4)] }
    }

    @Test("A connection that is back, with a gap or without, ends it", arguments: [true, false])
    func reconnects(isResumed: Bool) async throws {
        let list = try await source.liveList(options())
        await source.say(.subscribed)
        try await answerBadly(list)
        await source.say(.offline(Late()))
        await source.say(isResumed ? .resumed : .subscribed)
        try await until { source.fetchCount == 1 }
        source.answerFetch(9, [Player(4)])
        try await until { list.state.isLive && list.rows == [Player(4)] }
    }

    @Test("A change that arrives during the request causes another one, not a pause without it")
    func changeDuringFetch() async throws {
        let list = try await source.liveList(options())
        await source.say(.subscribed)
        try await until { source.fetchCount == 1 }
        await source.say(removal(10, 1))
        try await answerBadly(list)
        try await clock.waitForSleep(of: .seconds(30))
        clock.advance(by: .seconds(30))
        try await until { source.fetchCount == 1 }
        source.answerFetch(10, [Player(2)])
        try await until { list.state.isLive && list.rows == [Player(2)] }
    }

    @Test("A list that grows past the limit stops, and asks when it has changed")
    func grows() async throws {
        let list = try await source.liveList(options(rowsMax: 3))
        let put = ListOperation<Player>.put(Player(4), after: nil)
        await source.say(.change(ListChange(revision: 6, mutation: nil, operations: [put])))
        try await until { list.state.error != nil }
        #expect(list.state.error as? LiveListError == .tooManyRows(count: 4, limit: 3))
        try await clock.waitForSleep(of: .seconds(30))
        clock.advance(by: .seconds(30))
        try await clock.waitForSleep(of: .seconds(270))
        await source.say(removal(7, 4))
        try await until { source.fetchCount == 1 }
        source.answerFetch(7, [Player(1), Player(2), Player(3)])
        try await until { list.state.isLive && list.rows.count == 3 }
    }
}
