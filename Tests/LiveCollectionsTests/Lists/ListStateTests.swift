import FanfareClient
import LiveRows
import Testing

@testable import LiveCollections

@Suite("The state of a live list", .timeLimit(.minutes(2))) @MainActor struct ListStateTests {
    private let source = ScriptedSource()

    /// The states of a list from now on, in short.
    @MainActor private final class States {
        private(set) var texts: [String] = []

        init(_ list: LiveList<Player>) {
            list.observe { [weak self] update in
                let text =
                    switch update.state {
                    case .initial: "initial"
                    case .loading: "loading"
                    case .live: "live"
                    case .offline: "offline"
                    case .failed: "failed"
                    }
                if self?.texts.last != text { self?.texts.append(text) }
            }
        }
    }

    @Test("Without a connection a list is offline with the reason, and keeps its rows")
    func offline() async throws {
        let list = try await source.liveList()
        let states = States(list)
        await source.say(.offline(Late()))
        try await until { list.state.isOffline }
        #expect(!list.state.isLive)
        #expect(list.state.error is Late)
        #expect(list.rows.count == 3)
        await source.say(.subscribed)
        try await until { source.fetchCount == 1 }
        #expect(list.state.isLoading, "what was missed is being fetched")
        #expect(list.rows.count == 3)
        source.answerFetch(7, [Player(3)])
        try await until { list.state.isLive }
        #expect(list.rows == [Player(3)])
        #expect(states.texts == ["live", "offline", "loading", "live"])
    }

    @Test("After an interruption without a missed change nothing is fetched")
    func resumed() async throws {
        let list = try await source.liveList()
        await source.say(.offline(Late()))
        try await until { list.state.isOffline }
        await source.say(.change(ListChange(revision: 6, mutation: nil, operations: [.remove(1)])))
        try await until { list.rows.count == 2 }
        #expect(list.state.isOffline, "a change from before the interruption does not end it")
        await source.say(.resumed)
        try await until { list.state.isLive }
        #expect(source.fetchCount == 0)
    }

    @Test("An edit without a connection shows at once, waits, and is sent when there is one")
    func editsOffline() async throws {
        var options = impatient
        options.commitAttemptsMax = 2
        let list = try await source.liveList(options)
        await source.say(.offline(Late()))
        try await until { list.state.isOffline }
        let edit = list.edit { $0.remove(1) }
        #expect(list.rows.count == 2)
        for _ in 0..<10 {
            try await until { source.commits.count == 1 }
            source.answerCommit(.failure(Late()))
        }
        try await until { source.commits.count == 1 }
        #expect(list.pendingEditCount == 1, "the failures without a connection do not count")
        await source.say(.resumed)
        try await until { list.state.isLive }
        try await until { source.commits.count == 2 }
        source.answerCommit(.success(6))
        try await edit.confirmed()
    }

    @Test("A source that ends, with an error or without, is reported and listened to again")
    func ends() async throws {
        let list = try await source.liveList()
        var errors: [any Error] = []
        list.observeErrors { errors.append($0) }
        source.end()
        try await until { errors.first as? LiveListError == .sourceEnded }
        #expect(list.state.error as? LiveListError == .sourceEnded)
        try await until { source.listens == 2 && source.isListening }
        source.fail(Late())
        try await until { errors.last is Late }
        try await until { source.listens == 3 && source.isListening }
        await source.say(.subscribed)
        try await until { source.fetchCount == 1 }
        source.answerFetch(5, [Player(1)])
        try await until { list.state.isLive }
        #expect(errors.count == 2)
    }

    @Test("A fetch that fails without a connection leaves the list offline")
    func fetchFailsOffline() async throws {
        let list = try await source.liveList()
        await source.say(.subscribed)
        try await until { source.fetchCount == 1 }
        await source.say(.offline(LiveListError.notConnected(reason: "no network")))
        try await until { list.state.isOffline }
        source.answerFetch(.failure(Late()))
        try await until { source.fetchCount == 1 }
        #expect(list.state.error as? LiveListError == .notConnected(reason: "no network"))
        source.answerFetch(6, [Player(1)])
        try await until { list.rows.count == 1 }
        #expect(list.state.isOffline)
    }
}
