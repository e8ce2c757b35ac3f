import FanfareClient
import FanfareOutbox
import FanfareStorage
import FanfareTesting
import Foundation
import Synchronization
import Testing

/// Client events in a file: the app ends while they wait, and starts again.
@Suite("Client events in an outbox on disk", .timeLimit(.minutes(1))) struct StoredClientEventTests
{
    private let broker = ScriptedBroker()
    private let file = TemporaryFile()

    /// A client with the file as its outbox, as after a start of the app.
    private func start() throws -> Fanfare {
        let store = try SQLiteOutbox(path: file.path)
        return broker.client { $0.recovery.outbox = store }
    }

    private func stored() async throws -> [String] {
        try await SQLiteOutbox(path: file.path).first(100).map(\.data)
    }

    @Test(
        "Events without a connection are sent after the next start, in order and before newer ones"
    )
    func outlivesTheApp() async throws {
        broker.reception = .unreachable(reason: "offline")
        var keys: [String] = []
        do {
            let client = try start()
            let channel = client.subscribe("private-a")
            client.connect()
            for number in 1...3 {
                keys.append(try channel.trigger("client-n", json: "\(number)").key)
            }
            for pending in client.pendingEvents { try await pending.waitUntilStored() }
            #expect(try await stored() == ["1", "2", "3"])
            #expect(client.pendingEvents.map(\.key) == keys)
            client.suspend()
        }
        broker.reception = .accept
        let client = try start()
        let channel = client.subscribe("private-a")
        let fourth = try channel.trigger("client-n", json: "4")
        client.connect()
        #expect(try await fourth.delivery() == .accepted)
        #expect(broker.clientEvents("client-n", on: "private-a") == ["1", "2", "3", "4"])
        try await eventually { try await stored() == [] }
        #expect(client.pendingEvents.isEmpty)
        client.disconnect()
    }

    @Test("The outcome of an event of an earlier run is known too")
    func outcomeOfARestoredEvent() async throws {
        try await SQLiteOutbox(path: file.path).append(
            OutboxEvent(key: "key-1", name: "client-n", channel: "private-a", data: "1")
        )
        let client = try start()
        client.connect()
        try await eventually { client.pendingEvents.count == 1 }
        let pending = try #require(client.pendingEvents.first)
        #expect(pending.key == "key-1")
        #expect(pending.name == "client-n")
        #expect(pending.channel == "private-a")
        client.subscribe("private-a")
        #expect(try await pending.delivery() == .accepted)
        client.disconnect()
    }

    @Test("An event that was sent without a receipt is sent again under its key")
    func withoutAReceipt() async throws {
        broker.inject(.drop) { $0.event == "pusher_internal:position" }
        do {
            let client = try start()
            let channel = client.subscribe("private-a")
            client.connect()
            try channel.trigger("client-n", json: "1")
            try await eventually {
                broker.clientEvents("client-n", on: "private-a") == ["1"]
            }
            try await eventually { try await stored() == ["1"] }
            client.suspend()
        }
        broker.removeFaults()
        let client = try start()
        client.subscribe("private-a")
        client.connect()
        try await eventually { try await stored() == [] }
        // The broker knows the key, and publishes the event once.
        #expect(broker.clientEvents("client-n", on: "private-a").count == 2)
        client.disconnect()
    }

    @Test("Events that are dropped leave the store", arguments: [true, false])
    func dropsEvents(byDisconnecting: Bool) async throws {
        broker.reception = .unreachable(reason: "offline")
        let client = try start()
        let channel = client.subscribe("private-a")
        client.connect()
        let pending = try channel.trigger("client-n", json: "1")
        try await eventually { try await stored() == ["1"] }
        if byDisconnecting { client.disconnect() } else { channel.unsubscribe() }
        await #expect(throws: FanfareError.self) { try await pending.delivery() }
        try await eventually { try await stored() == [] }
        client.disconnect()
    }

    @Test("Without a store an event is not stored, and says so")
    func noStore() async throws {
        let client = broker.client()
        let pending = try client.subscribe("private-a").trigger("client-n", json: "1")
        let error = await #expect(throws: FanfareError.self) { try await pending.waitUntilStored() }
        #expect(error?.reason == "ClientOptions.recovery.outbox is nil")
    }

    @Test("A store that fails is reported, and its events are sent from memory")
    func storeFails() async throws {
        struct Full: Error, CustomStringConvertible { let description = "the disk is full" }
        struct Store: OutboxStore {
            func first(_ countMax: Int) throws -> [OutboxEvent] { throw Full() }
            func append(_ event: OutboxEvent) throws { throw Full() }
            func remove(_ key: String) throws { throw Full() }
        }
        let client = broker.client { $0.recovery.outbox = Store() }
        let errors = Mutex<[FanfareError]>([])
        client.onError { error in errors.withLock { $0.append(error) } }
        let channel = client.subscribe("private-a")
        client.connect()
        let pending = try channel.trigger("client-n", json: "1")
        let error = await #expect(throws: FanfareError.self) { try await pending.waitUntilStored() }
        #expect(error?.code == .outboxFailed)
        #expect(try await pending.delivery() == .accepted)
        // Reading, writing and removing have failed.
        try await eventually { errors.withLock { $0.count } == 3 }
        for error in errors.withLock({ $0 }) {
            #expect(error.code == .outboxFailed)
            #expect(error.description.contains("the disk is full"))
            #expect(error.advice?.contains("lost if the app ends") == true)
        }
        client.disconnect()
    }
}

/// Waits until a condition is true, at most 30 seconds.
func eventually(
    isolation: isolated (any Actor)? = #isolation,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + .seconds(30)
    while try await !condition() {
        if ContinuousClock.now > deadline {
            Issue.record("still not true after 30 seconds", sourceLocation: sourceLocation)
            return
        }
        try await Task.sleep(for: .milliseconds(2))
    }
}
