import FanfareClient
import FanfareTesting
import LiveCollections
import LiveRows
import Synchronization
import Testing

/// The rows of a backend, which a test changes.
private final class Backend: Sendable {
    private let snapshot = Mutex(ListSnapshot(revision: 5, rows: [Player(1)]))
    private let fetches = Mutex(0)

    var fetchCount: Int { fetches.withLock { $0 } }

    func change(_ rows: [Player]) {
        snapshot.withLock { $0 = ListSnapshot(revision: $0.revision + 1, rows: rows) }
    }

    func source(_ channel: Channel) -> ChannelSource<Player> {
        ChannelSource(
            channel: channel,
            snapshot: {
                self.fetches.withLock { $0 += 1 }
                return self.snapshot.withLock { $0 }
            }
        )
    }
}

@Suite("Lists over a channel that fails", .timeLimit(.minutes(2))) @MainActor
struct ChannelOutageTests {
    /// A broker that keeps nothing for clients that come back: then every connection costs a request.
    private let broker: ScriptedBroker = {
        var settings = ScriptedBroker.Settings()
        settings.keepsHistory = false
        return ScriptedBroker(settings)
    }()
    private let backend = Backend()

    private func live(
        _ client: Fanfare,
        channel: String = "players"
    ) async throws -> LiveList<Player> {
        let list = LiveList(backend.source(client.channel(channel)), options: impatient)
        client.connect()
        try await until { list.state.isLive }
        return list
    }

    private func remove(_ id: Int, revision: Int) throws {
        let json = #"{"revision":\#(revision),"operations":[{"op":"remove","id":\#(id)}]}"#
        try broker.trigger("list_changed", on: ["players"], text: json)
    }

    @Test("A list before connect() is offline and says so, then it loads")
    func beforeConnect() async throws {
        let client = broker.client()
        defer { client.disconnect() }
        let list = LiveList(backend.source(client.channel("players")), options: impatient)
        try await until { list.state.isOffline }
        #expect("\(try #require(list.state.error))".contains("connect()"))
        client.connect()
        try await until { list.state.isLive }
        #expect(list.rows == [Player(1)])
    }

    @Test("A cut makes the list offline; with the next connection it catches up")
    func cut() async throws {
        let client = broker.client()
        defer { client.disconnect() }
        let list = try await live(client)
        broker.cut()
        try await until { list.state.isOffline }
        #expect(list.rows == [Player(1)])
        backend.change([Player(2)])
        try await broker.advance(by: .seconds(60))
        try await until { list.state.isLive && list.rows == [Player(2)] }
        // A second cut is noticed as well.
        broker.cut()
        try await until { list.state.isOffline }
        try await broker.advance(by: .seconds(60))
        try await until { list.state.isLive }
    }

    @Test("With recovery a list survives cuts without a request, and loads its rows behind a gap")
    func resumes() async throws {
        let broker = ScriptedBroker()
        let client = broker.client()
        defer { client.disconnect() }
        let list = LiveList(backend.source(client.channel("players")), options: impatient)
        client.connect()
        try await until { list.state.isLive }
        let count = backend.fetchCount
        for revision in 6...25 {
            broker.cut()
            try await until { list.state.isOffline }
            let id = revision * 10
            let json =
                #"{"revision":\#(revision),"operations":[{"op":"put","row":{"id":\#(id),"name":"a"},"after":null}]}"#
            try broker.trigger("list_changed", on: ["players"], text: json)
            try await broker.advance(by: .seconds(60))
            try await until { list.state.isLive && list.rows.count == revision - 4 }
        }
        #expect(backend.fetchCount == count)
        broker.restart(keepingHistory: false)
        try await broker.advance(by: .seconds(60))
        try await until { backend.fetchCount == count + 1 && list.state.isLive }
    }

    @Test(
        "An idle list asks for its rows in intervals only if the broker keeps no positions",
        arguments: [true, false]
    )
    func idle(keepsPositions: Bool) async throws {
        let broker = keepsPositions ? ScriptedBroker() : broker
        let clock = ManualClock()
        let client = broker.client()
        defer { client.disconnect() }
        var options = impatient
        options.clock = clock.clientClock
        let list = LiveList(backend.source(client.channel("players")), options: options)
        client.connect()
        try await until { list.state.isLive }
        let count = backend.fetchCount
        for round in 1...3 {
            try await clock.waitForSleep(of: .seconds(300))
            clock.advance(by: .seconds(300))
            if !keepsPositions { try await until { backend.fetchCount == count + round } }
        }
        try await clock.waitForSleep(of: .seconds(300))
        // What the checks have begun precedes the list's handling of this change.
        let json = #"{"revision":6,"operations":[{"op":"remove","id":1}]}"#
        try broker.trigger("list_changed", on: ["players"], text: json)
        try await until { list.rows.isEmpty }
        #expect(backend.fetchCount == count + (keepsPositions ? 0 : 3))
    }

    @Test("A close after which the client reconnects at once makes the list offline meanwhile")
    func reconnectsAtOnce() async throws {
        let client = broker.client()
        defer { client.disconnect() }
        let list = try await live(client)
        // Stable: then the first attempt has no delay.
        try await broker.advance(by: .seconds(20))
        broker.reception = .silence
        let socketID = try #require(client.socketID)
        try broker.close(socketID, code: 4200)
        try await until { list.state.isOffline }
    }

    @Test(
        "disconnect() and suspend() make the list offline until connect()",
        arguments: [true, false]
    )
    func disconnects(suspends: Bool) async throws {
        let client = broker.client()
        defer { client.disconnect() }
        let list = try await live(client)
        for number in 2...4 {
            if suspends { client.suspend() } else { client.disconnect() }
            try await until { list.state.isOffline }
            backend.change([Player(number)])
            client.connect()
            try await until { list.state.isLive && list.rows == [Player(number)] }
        }
        // Too fast for the list to notice: it has caught up all the same.
        let count = backend.fetchCount
        client.disconnect()
        client.connect()
        try await until { list.state.isLive && backend.fetchCount > count }
    }

    @Test("A client that fails leaves the list offline with its error, until connect()")
    func clientFails() async throws {
        let client = broker.client()
        defer { client.disconnect() }
        let list = try await live(client)
        broker.reception = .refuse(code: 4001, message: "the app does not exist")
        broker.cut()
        try await broker.advance(by: .seconds(60))
        try await until { (list.state.error as? FanfareError)?.status == 4001 }
        broker.reception = .accept
        client.connect()
        try await until { list.state.isLive }
    }

    @Test("A refused resubscription is reported and tried again")
    func refused() async throws {
        let client = broker.client()
        defer { client.disconnect() }
        let list = try await live(client)
        broker.refuseSubscriptions(to: "players", message: "no longer a member", status: 403)
        var reasons: [String] = []
        list.observeErrors { reasons.append("\($0)") }
        client.disconnect()
        client.connect()
        try await until { reasons.contains { $0.contains("no longer a member") } }
        #expect(!list.state.isLive)
        broker.acceptSubscriptions(to: "players")
        try await until { list.state.isLive }
        #expect(broker.subscribers(of: "players").count == 1)
    }

    @Test("A subscription that fails for now makes the list offline with the reason")
    func postponed() async throws {
        let client = broker.client()
        defer { client.disconnect() }
        let list = try await live(client)
        broker.refuseSubscriptions(to: "players", message: "overloaded", status: 503)
        client.disconnect()
        client.connect()
        try await until { list.state.error.map { "\($0)".contains("overloaded") } == true }
        #expect(list.state.isOffline)
        broker.acceptSubscriptions(to: "players")
        try await broker.advance(by: .seconds(60))
        try await until { list.state.isLive }
    }

    @Test("A list follows its channel although somebody else unsubscribes it")
    func unsubscribedByOthers() async throws {
        let client = broker.client()
        defer { client.disconnect() }
        let list = try await live(client)
        client.subscribe("players")
        client.channel("players").unsubscribe()
        client.channel("players").unsubscribe()
        try remove(1, revision: 6)
        try await until { list.rows.isEmpty }
        #expect(list.state.isLive)
    }

    @Test("Releasing the last list of a channel unsubscribes it")
    func releases() async throws {
        let client = broker.client()
        defer { client.disconnect() }
        var lists: [LiveList<Player>] = [try await live(client), try await live(client)]
        #expect(broker.subscribers(of: "players").count == 1)
        lists.removeLast()
        try remove(1, revision: 6)
        try await until { lists[0].rows.isEmpty }
        lists.removeLast()
        try await broker.waitForSubscribers(0, to: "players")
        #expect(client.status.isConnected)
    }

    @Test("An unreadable event is reported, and the rows are fetched")
    func unreadable() async throws {
        let client = broker.client()
        defer { client.disconnect() }
        let list = try await live(client)
        var errors: [any Error] = []
        list.observeErrors { errors.append($0) }
        backend.change([Player(7)])
        try broker.trigger("list_changed", on: ["players"], text: #"{"revision":"x"}"#)
        try await until { list.rows == [Player(7)] && list.state.isLive }
        guard case .unreadableEvent = errors.first as? LiveListError else {
            Issue.record("\(errors)")
            return
        }
    }
}
