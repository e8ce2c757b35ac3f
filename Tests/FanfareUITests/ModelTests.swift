import FanfareClient
import FanfareTesting
import FanfareUI
import LiveCollections
import LiveRows
import Observation
import Testing

@Suite("Models for views", .timeLimit(.minutes(1))) @MainActor struct ModelTests {
    private struct Order: Codable, Equatable, Sendable {
        var id: Int
    }

    private struct Person: Identifiable, Equatable, Sendable {
        let id: Int
        var name: String
    }

    private let placed = EventName<Order>("placed")
    private let broker = ScriptedBroker()
    private let client: Fanfare

    init() { client = broker.client() }

    private func wait(until condition: () -> Bool) async throws {
        while !condition() { try await Task.sleep(for: .milliseconds(1)) }
    }

    @Test("A channel's latest events, and its state over a cut")
    func channel() async throws {
        let model = ChannelModel(placed, on: client.channel("orders"), limit: 2)
        #expect(model.state == .subscribing)
        client.connect()
        defer { client.disconnect() }
        try await broker.waitForSubscribers(to: "orders")
        try await wait { model.state == .live }
        for id in 1...3 { try broker.trigger("placed", on: "orders", data: Order(id: id)) }
        try broker.trigger("placed", on: ["orders"], text: "{}")
        try await wait { model.events.last?.id == 3 && model.lastError != nil }
        #expect(model.events == [Order(id: 2), Order(id: 3)])
        #expect(model.lastError?.code == .undecodable)
        #expect(model.gap == nil)

        broker.cut()
        try await wait { model.state == .offline }
        try broker.trigger("placed", on: "orders", data: Order(id: 4))
        client.connect()
        try await wait { model.state == .live && model.events.last?.id == 4 }
        #expect(model.gap == nil)

        broker.restart(keepingHistory: false)
        try await broker.advance(by: .seconds(31))
        try await wait { model.state == .live && model.gap != nil }
        #expect(model.gap?.reason == .unknownStream)
        #expect(model.events.count == 2)
        model.acknowledgeGap()
        #expect(model.gap == nil)
    }

    @Test("A refused channel is said to have failed")
    func refused() async throws {
        broker.refuseSubscriptions(to: "orders", status: 403)
        let model = ChannelModel(placed, on: client.channel("orders"))
        client.connect()
        defer { client.disconnect() }
        try await wait { if case .failed = model.state { true } else { false } }
    }

    @Test("A channel that was refused goes on when its subscription is confirmed later")
    func acceptedLater() async throws {
        let channel = client.channel("orders")
        let model = ChannelModel(placed, on: channel)
        client.connect()
        defer { client.disconnect() }
        try await broker.waitForSubscribers(to: "orders")
        for id in 1...3 {
            try broker.trigger("placed", on: "orders", data: Order(id: id))
            try await wait { model.state == .live && model.events.last?.id == id }
            broker.refuseSubscriptions(to: "orders", status: 403)
            client.disconnect()
            client.connect()
            try await wait { if case .failed = model.state { true } else { false } }
            broker.acceptSubscriptions(to: "orders")
            channel.subscribe()
            try await wait { model.state == .live }
            channel.unsubscribe()
        }
        try broker.trigger("placed", on: "orders", data: Order(id: 4))
        try await wait { model.events.last?.id == 4 }
        #expect(model.events.map(\.id) == [1, 2, 3, 4])
        #expect(model.gap == nil)
    }

    @Test("A channel that was refused from the start goes on when it is accepted")
    func acceptedAtLast() async throws {
        broker.refuseSubscriptions(to: "orders", status: 403)
        let model = ChannelModel(placed, on: client.channel("orders"))
        client.connect()
        defer { client.disconnect() }
        try await wait { if case .failed = model.state { true } else { false } }
        broker.acceptSubscriptions(to: "orders")
        client.disconnect()
        client.connect()
        try await wait { model.state == .live }
        try broker.trigger("placed", on: "orders", data: Order(id: 1))
        try await wait { model.events.last?.id == 1 }
    }

    @Test("What arrives between the refusal and the model's return is a gap")
    func missedAfterRefusal() async throws {
        let channel = client.channel("orders")
        let model = ChannelModel(placed, on: channel)
        client.connect()
        defer { client.disconnect() }
        try await broker.waitForSubscribers(to: "orders")
        try broker.trigger("placed", on: "orders", data: Order(id: 1))
        try await wait { model.events.last?.id == 1 }
        broker.refuseSubscriptions(to: "orders", status: 403)
        client.disconnect()
        client.connect()
        try await wait { if case .failed = model.state { true } else { false } }
        try broker.trigger("placed", on: "orders", data: Order(id: 2))
        broker.acceptSubscriptions(to: "orders")
        channel.subscribe()
        try await wait { model.gap != nil || model.events.last?.id == 2 }
        #expect(model.state == .live)
    }

    @Test("The release of a model ends its subscription")
    func release() async throws {
        client.connect()
        defer { client.disconnect() }
        var model: ChannelModel<Order>? = ChannelModel(placed, on: client.channel("orders"))
        try await broker.waitForSubscribers(to: "orders")
        weak let released = model
        model = nil
        try await broker.wait(for: "the end of the subscription") {
            broker.subscribers(of: "orders").isEmpty
        }
        #expect(released == nil)
    }

    @Test func members() async throws {
        let options = broker.clientOptions(as: "ann")
        let ann = Fanfare(key: "app-key", endpoint: broker.endpoint, options: options)
        let model = MembersModel(of: ann.channel("presence-room"))
        ann.connect()
        defer { ann.disconnect() }
        try await wait { model.me?.id == "ann" }
        let bob = Fanfare(
            key: "app-key",
            endpoint: broker.endpoint,
            options: broker.clientOptions(as: "bob")
        )
        bob.subscribe("presence-room")
        bob.connect()
        try await wait { model.members.map(\.id) == ["ann", "bob"] }
        bob.disconnect()
        try await wait { model.members.map(\.id) == ["ann"] }
    }

    @Test func connection() async throws {
        let model = ConnectionModel(client)
        #expect(model.summary == "disconnected")
        client.connect()
        try await wait { model.isConnected }
        #expect(model.summary == "connected")
        client.suspend()
        try await wait { model.status == .suspended }
        client.disconnect()
    }

    @Test("The number of unconfirmed edits falls with a confirmation that changes no row")
    func pendingEditCount() async throws {
        let (snapshots, continuation) = AsyncThrowingStream<[Person], any Error>.makeStream()
        let source = SnapshotSource<Person>(commit: { _ in }, snapshots: { snapshots })
        let model = ListModel(source)
        let edit = model.list.edit { $0.append(Person(id: 2, name: "Bob")) }
        #expect(model.pendingEditCount == 1)
        try await edit.confirmed()
        #expect(model.list.pendingEditCount == 0)
        #expect(model.pendingEditCount == 0)
        #expect(model.rows.map(\.name) == ["Bob"])
        // A model that is made meanwhile begins with the number.
        model.list.edit { $0.append(Person(id: 3, name: "Cid")) }
        #expect(ListModel(model.list).pendingEditCount == 1)
        continuation.finish()
    }

    @Test("Rows, refusals and changes that a view observes")
    func list() async throws {
        let source = try LocalSource([Person(id: 1, name: "Ann")])
        let model = ListModel(source)
        #expect(model.rows.map(\.name) == ["Ann"])
        var changeCount = 0
        withObservationTracking {
            _ = model.rows
        } onChange: {
            MainActor.assumeIsolated { changeCount += 1 }
        }
        // As on systems without Observation.
        var publishedCount = 0
        model.onChange = { publishedCount += 1 }
        let edit = model.list.edit { $0.append(Person(id: 2, name: "Bob")) }
        #expect(model.rows.map(\.name) == ["Ann", "Bob"])
        #expect(changeCount == 1)
        #expect(publishedCount > 0)
        try await edit.confirmed()
        let revision = try #require(model.list.revision)
        model.list.edit { editor in
            editor.ifRevision = revision + 7
            editor.remove(1)
        }
        try await wait { model.refusal != nil }
        #expect(model.rows.map(\.name) == ["Ann", "Bob"])
    }

    @Test(
        "An editor's whole text becomes the smallest edit",
        arguments: [
            ("", "a"), ("abc", "abxc"), ("abc", "ac"), ("aaa", "aa"), ("a👋c", "a👍c"),
            ("👋", "👋👋"), ("abc", "abc"), ("abc", ""), ("e\u{301}", "e"),
        ]
    )
    func text(old: String, new: String) throws {
        let text = LiveText(from: Unreachable())
        let model = TextModel(text)
        try model.replaceAll(with: old)
        try model.replaceAll(with: new)
        #expect(model.string == new)
        #expect(text.string == new)
    }

    private struct Unreachable: TextSource {
        struct Failure: Error {}
        func news() -> AsyncStream<TextSourceEvent> { AsyncStream { $0.finish() } }
        func snapshot() async throws -> TextSnapshot { throw Failure() }
        func recovery(after serial: UInt64, epoch: UInt64) async throws -> TextRecovery {
            throw Failure()
        }
        func send(_ batch: TextBatch) async throws { throw Failure() }
    }
}
