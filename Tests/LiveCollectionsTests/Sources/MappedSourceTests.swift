import FanfareClient
import FanfareTesting
import LiveRows
import Synchronization
import Testing

@testable import LiveCollections

@Suite("Lists of application-specific events", .timeLimit(.minutes(2))) @MainActor
struct MappedSourceTests {
    private let broker = ScriptedBroker()
    private let fetches = Fetches()

    /// Counts the requests for all rows.
    private final class Fetches: Sendable {
        let count = Mutex(0)
    }

    private func source(_ client: Fanfare) -> MappedSource<Player> {
        MappedSource(
            channel: client.channel("userslist"),
            rows: { [fetches] in
                fetches.count.withLock { $0 += 1 }
                return [Player(1)]
            },
            change: { event in
                guard event.name == "addUser" else { return nil }
                return MappedChange(operations: [.put(try event.decode(), after: 99)])
            }
        )
    }

    @Test("Two lists of one source follow its events without a request")
    func shared() async throws {
        let client = broker.client()
        defer { client.disconnect() }
        let source = source(client)
        let lists = [
            LiveList(source, options: impatient), LiveList(source, options: impatient),
        ]
        client.connect()
        try await until { lists.allSatisfy(\.state.isLive) }
        let count = fetches.count.withLock { $0 }
        #expect(count == 2)
        for id in 2...9 {
            try broker.trigger("addUser", on: "userslist", data: Player(id))
            try await until { lists.allSatisfy { $0.rows.count == id } }
        }
        #expect(fetches.count.withLock { $0 } == count)
        #expect(lists.allSatisfy { $0.state.isLive && $0.revision == 8 })
    }

    @Test("A list that joins later counts the events from then on")
    func joins() async throws {
        let client = broker.client()
        defer { client.disconnect() }
        let source = source(client)
        let first = LiveList(source, options: impatient)
        client.connect()
        try await until { first.state.isLive }
        for id in 2...5 { try broker.trigger("addUser", on: "userslist", data: Player(id)) }
        try await until { first.rows.count == 5 }
        let second = LiveList(source, options: impatient)
        try await until { second.state.isLive }
        let count = fetches.count.withLock { $0 }
        try broker.trigger("addUser", on: "userslist", data: Player(6))
        try await until { first.rows.count == 6 && second.rows.map(\.id) == [1, 6] }
        #expect(fetches.count.withLock { $0 } == count)
    }

    @Test("An event that arrives while the rows are fetched shows after them")
    func duringFetch() throws {
        var replica = ListReplica<Player>(options: impatient)
        replica.began()
        for id in 1...2 { _ = replica.changed([.put(Player(id), after: nil)], by: nil) }
        guard case .fetch(let number, _) = replica.subscribed().first else {
            Issue.record("the list fetches its rows")
            return
        }
        _ = replica.changed([.put(Player(3), after: 2)], by: nil)
        _ = replica.fetched(number, ListSnapshot(revision: 0, rows: [Player(1), Player(2)]))
        #expect(replica.rows.map(\.id) == [1, 2, 3])
        #expect(replica.state.isLive)
        #expect(replica.revision == 3)
    }
}
