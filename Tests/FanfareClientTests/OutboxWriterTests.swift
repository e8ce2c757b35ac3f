import FanfareTesting
import Testing

@testable import FanfareClient

/// An outbox whose first `append` does not return before it is opened.
private actor StalledOutbox: OutboxStore {
    private(set) var calls: [String] = []
    private var isOpen = false
    private var stalled: [CheckedContinuation<Void, Never>] = []

    func open() {
        isOpen = true
        for continuation in stalled { continuation.resume() }
        stalled = []
    }

    func first(_ countMax: Int) -> [OutboxEvent] { [] }

    func append(_ event: OutboxEvent) async {
        calls.append("append \(event.name)")
        guard !isOpen else { return }
        await withCheckedContinuation { stalled.append($0) }
    }

    func remove(_ key: String) { calls.append("remove") }
}

@Suite("The outbox of a client whose store stalls", .timeLimit(.minutes(2)))
struct OutboxWriterTests {
    private let broker = ScriptedBroker()
    private let store = StalledOutbox()

    private func channel() -> Channel {
        broker.client { options in
            options.recovery.outbox = store
            options.limits.clientEventsPerSecond = nil
        }.subscribe("private-a")
    }

    @Test("Events that are confirmed or refused while the store stalls leave nothing behind")
    func settledEvents() async throws {
        let channel = channel()
        // Before the connection: an event that is confirmed at once would not reach the store.
        let first = try channel.trigger("client-first", 0)
        await eventually("the store stalls") { await store.calls.count == 1 }
        channel.client.connect()
        defer { channel.client.disconnect() }
        try await first.delivery()
        for number in 1...500 {
            let event = try channel.trigger("client-n", number)
            #expect(throws: FanfareError.self) { try channel.trigger("refused", number) }
            try await event.delivery()
            // The event has its outcome, so its caller need not wait for the store.
            try await event.waitUntilStored()
        }
        await store.open()
        try await first.waitUntilStored()
        await eventually("the removal") { await store.calls.count >= 2 }
        channel.client.suspend()
        try await channel.trigger("client-last", 501).waitUntilStored()
        #expect(await store.calls == ["append client-first", "remove", "append client-last"])
    }

    @Test("At the limit of its queue the client refuses events; the others are stored in order")
    func limit() async throws {
        let channel = channel()
        var events: [PendingEvent] = []
        for number in 0..<channel.client.options.limits.clientEventQueueCountMax {
            events.append(try channel.trigger("client-\(number)", number))
        }
        let error = #expect(throws: FanfareError.self) { try channel.trigger("client-more", 0) }
        #expect(error?.message.contains("the queue is full") == true)
        await store.open()
        for event in events { try await event.waitUntilStored() }
        #expect(await store.calls == events.map { "append \($0.name)" })
        channel.unsubscribe()
        await eventually("the removal of all") { await store.calls.count == 2 * events.count }
    }
}
