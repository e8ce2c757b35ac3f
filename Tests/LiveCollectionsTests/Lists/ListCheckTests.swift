import FanfareClient
import FanfareTesting
import LiveRows
import Testing

@testable import LiveCollections

@Suite("Lost changes of a live list", .timeLimit(.minutes(2))) @MainActor struct ListCheckTests {
    private let source = ScriptedSource()
    private let clock = ManualClock()

    private func options(interval: Duration? = nil) -> ListOptions {
        var options = impatient
        options.clock = clock.clientClock
        options.checkInterval = interval
        return options
    }

    @Test("The change of an accepted edit that does not arrive is fetched")
    func ownChange() async throws {
        let list = try await source.liveList(options())
        let edit = list.edit { $0.remove(1) }
        try await until { source.commits.count == 1 }
        source.answerCommit(.success(7))
        try await edit.confirmed()
        #expect(list.pendingEditCount == 1)
        try await clock.waitForSleep(of: ListOptions().changeTimeout)
        #expect(source.fetchCount == 0)
        clock.advance(by: ListOptions().changeTimeout)
        try await until { source.fetchCount == 1 }
        // Revision 6 of somebody else was lost as well.
        source.answerFetch(7, [Player(3), Player(2)])
        try await until { list.revision == 7 }
        #expect(list.rows.map(\.id) == [3, 2])
        #expect(list.pendingEditCount == 0)
        #expect(list.state.isLive)
    }

    @Test("The change of an accepted edit that arrives in time is not fetched")
    func ownChangeInTime() async throws {
        let list = try await source.liveList(options())
        let edit = list.edit { $0.remove(1) }
        try await until { source.commits.count == 1 }
        source.answerCommit(.success(6))
        try await edit.confirmed()
        try await clock.waitForSleep(of: ListOptions().changeTimeout)
        await source.say(
            .change(ListChange(revision: 6, mutation: edit.mutation, operations: [.remove(1)]))
        )
        try await until { list.revision == 6 }
        // The change of a second edit is waited for anew.
        let second = list.edit { $0.remove(2) }
        try await until { source.commits.count == 1 }
        source.answerCommit(.success(7))
        try await second.confirmed()
        clock.advance(by: ListOptions().changeTimeout)
        try await clock.waitForSleep(of: ListOptions().changeTimeout)
        #expect(source.fetchCount == 0)
        clock.advance(by: ListOptions().changeTimeout)
        try await until { source.fetchCount == 1 }
    }

    @Test("A list is compared with its source in intervals, and stays live meanwhile")
    func compares() async throws {
        let list = try await source.liveList(options(interval: .seconds(300)))
        try await clock.waitForSleep(of: .seconds(300))
        clock.advance(by: .seconds(300))
        try await until { source.fetchCount == 1 }
        #expect(list.state.isLive)
        source.answerFetch(6, [Player(1)])
        try await until { list.revision == 6 }
        #expect(list.rows == [Player(1)])
    }

    @Test("A source that tells its revision is asked for rows only if that is newer")
    func comparesRevisions() async throws {
        source.setRevision(5)
        let list = try await source.liveList(options(interval: .seconds(300)))
        for count in 1...2 {
            try await clock.waitForSleep(of: .seconds(300))
            clock.advance(by: .seconds(300))
            try await until { source.revisionCount == count }
        }
        try await clock.waitForSleep(of: .seconds(300))
        #expect(source.fetchCount == 0)
        source.setRevision(6)
        clock.advance(by: .seconds(300))
        try await until { source.fetchCount == 1 }
        source.answerFetch(6, [Player(1)])
        try await until { list.revision == 6 }
    }

    @Test("A comparison with older rows, as of a cache, changes nothing")
    func olderRows() async throws {
        let list = try await source.liveList(options(interval: .seconds(300)))
        try await clock.waitForSleep(of: .seconds(300))
        clock.advance(by: .seconds(300))
        try await until { source.fetchCount == 1 }
        source.answerFetch(4, [Player(9)])
        await source.say(.change(ListChange(revision: 6, mutation: nil, operations: [.remove(1)])))
        try await until { list.revision == 6 }
        #expect(list.rows.map(\.id) == [2, 3])
    }

    @Test("Nothing is compared without a connection")
    func offline() async throws {
        let list = try await source.liveList(options(interval: .seconds(300)))
        await source.say(.offline(Late()))
        try await until { list.state.isOffline }
        try await clock.waitForSleep(of: .seconds(300))
        clock.advance(by: .seconds(300))
        try await clock.waitForSleep(of: .seconds(300))
        #expect(source.revisionCount == 0)
        #expect(source.fetchCount == 0)
    }

    // MARK: Unreadable events

    @Test("An event that cannot be read is reported, and the missed change is fetched")
    func unreadable() async throws {
        let list = try await source.liveList(options())
        var errors: [any Error] = []
        list.observeErrors { errors.append($0) }
        let error = LiveListError.unreadableEvent(reason: "no revision")
        await source.say(.unreadable(error))
        try await until { source.fetchCount == 1 }
        #expect(list.state.error as? LiveListError == error)
        #expect(errors.map { $0 as? LiveListError } == [error])
        source.answerFetch(6, [Player(1)])
        try await until { list.state.isLive }
        #expect(list.rows == [Player(1)])
    }

    @Test("Events that cannot be read during a fetch cause one more, after a delay")
    func unreadableDuringFetch() async throws {
        var options = options()
        options.backoff = Backoff(floor: .seconds(7), window: .zero, cap: .seconds(7))
        let list = try await source.liveList(options)
        let error = LiveListError.unreadableEvent(reason: "no revision")
        for _ in 0..<3 { await source.say(.unreadable(error)) }
        try await until { source.fetchCount == 1 }
        source.answerFetch(6, [Player(1)])
        try await clock.waitForSleep(of: .seconds(7))
        #expect(source.fetchCount == 0)
        #expect(!list.state.isLive)
        clock.advance(by: .seconds(7))
        try await until { source.fetchCount == 1 }
        source.answerFetch(8, [Player(2)])
        try await until { list.state.isLive }
        #expect(list.rows == [Player(2)])
    }
}
