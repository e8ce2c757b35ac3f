import Broker
import PusherProtocol
import Synchronization
import Testing

@testable import Webhooks

/// Webhooks of events that another queue keeps.
@Suite("Events of other queues", .timeLimit(.minutes(1))) struct QueuedEventTests {
    /// What was settled.
    private final class Settled: Sendable {
        let events = Mutex<[String]>([])
        var texts: [String] { events.withLock { $0 } }
    }

    private let settled = Settled()

    private var settings: WebhookSettings {
        var settings = WebhookSettings()
        settings.settled = { [settled] id, isDelivered in
            settled.events.withLock { $0.append("\(id) \(isDelivered)") }
        }
        return settings
    }

    private func event(
        _ serial: UInt64,
        queue: Int = 1,
        on name: String = "my-channel",
        age: Int64 = 0,
        _ content: QueuedEvent.Content = .event(.occupied)
    ) -> QueuedEvent {
        QueuedEvent(
            id: QueuedEvent.ID(queue: queue, stream: 9, serial: serial),
            time: ManualClock().unixTime - age,
            address: ChannelAddress(app: appID, name: channel(name)),
            content: content
        )
    }

    private func ids(_ stage: Stage) -> [String?] {
        stage.transport.requests.map { request in
            request.headers.first { $0.name == "X-Fanfare-Webhook-ID" }?.value
        }
    }

    @Test func haveTheTimeAndTheIDOfTheirQueue() async throws {
        let stage = try await Stage(settings: settings, apps: [app(endpoints: [endpoint()])])
        stage.webhooks.send([
            event(1, age: 1_000), event(2, .clientEvent(Array(#"{"name":"client_event"}"#.utf8))),
        ])
        try await stage.expectRequests(2)
        #expect(
            stage.transport.bodies.first
                == #"{"time_ms":1699999999123,"events":"#
                + #"[{"name":"channel_occupied","channel":"my-channel"}]}"#
        )
        #expect(stage.transport.events.last == #"[{"name":"client_event"}]"#)
        #expect(ids(stage) == ["1-9-1", "1-9-2"])
        let deliveryIDs = stage.transport.requests.map { request in
            request.headers.first { $0.name == "X-Delivery-Id" }?.value
        }
        #expect(deliveryIDs == ids(stage))
        try await eventually { settled.texts == ["1-9-1 true", "1-9-2 true"] }
        await stage.stop()
    }

    @Test func areSettledBehindTheLastEndpoint() async throws {
        let transport = ScriptedTransport { request, _ in
            request.url.hasSuffix("slow") ? nil : .answered(status: 200)
        }
        let stage = try await Stage(
            settings: settings,
            apps: [app(endpoints: [endpoint(), endpoint("http://backend.test/slow")])],
            transport: transport
        )
        stage.webhooks.send([event(1)])
        try await stage.expectRequests(2)
        // The same event of another leader's time does not come twice.
        stage.webhooks.send([event(1)])
        try await stage.waitForCounters { $0.delivered == 1 }
        #expect(settled.texts.isEmpty)
        let slow = try #require(transport.requests.firstIndex { $0.url.hasSuffix("slow") })
        transport.answer(slow, .answered(status: 410))
        try await eventually { settled.texts == ["1-9-1 false"] }
        try await stage.expectRequests(2)
        await stage.stop()
    }

    @Test func areSettledWithoutAnEndpoint() async throws {
        let apps = [app(endpoints: [endpoint(kinds: [.cacheMiss])])]
        let stage = try await Stage(settings: settings, apps: apps)
        stage.webhooks.send([event(1)])
        try await eventually { settled.texts == ["1-9-1 true"] }
        try await stage.expectRequests(0)
        await stage.stop()
    }

    @Test func areGivenUpWhenTheyAreTooOld() async throws {
        let stage = try await Stage(settings: settings, apps: [app(endpoints: [endpoint()])])
        stage.webhooks.send([event(1, age: 300_001), event(2, age: 299_000)])
        try await eventually { settled.texts.sorted() == ["1-9-1 false", "1-9-2 true"] }
        #expect(stage.transport.requests.count == 1 && stage.webhooks.counters.dead == 1)
        await stage.stop()
    }

    @Test func areNotSentForAQueueThatAnotherNodeLeads() async throws {
        let transport = ScriptedTransport { _, _ in nil }
        let stage = try await Stage(
            settings: settings,
            apps: [app(endpoints: [endpoint()])],
            transport: transport
        )
        stage.webhooks.send([event(1), event(2), event(3, queue: 2, on: "other")])
        try await stage.expectRequests(2)
        stage.webhooks.withdraw(queues: [1])
        let first = try #require(ids(stage).firstIndex(of: "1-9-1"))
        transport.answer(first, .failed("no answer"))
        transport.answer(1 - first, .answered(status: 200))
        try await eventually { settled.texts == ["2-9-3 true"] }
        await stage.advance(by: 60_000)
        try await stage.expectRequests(2)
        #expect(stage.webhooks.counters.queued == 0 && stage.webhooks.counters.dead == 0)
        // It leads again.
        stage.webhooks.send([event(1), event(2)])
        try await stage.expectRequests(3)
        #expect(ids(stage).last == "1-9-1")
        await stage.stop()
    }

    @Test func aRequestInFlightEndsItsEventAlsoForAnotherTerm() async throws {
        let transport = ScriptedTransport { _, _ in nil }
        let stage = try await Stage(
            settings: settings,
            apps: [app(endpoints: [endpoint()])],
            transport: transport
        )
        stage.webhooks.send([event(1)])
        try await stage.expectRequests(1)
        stage.webhooks.withdraw(queues: [1])
        stage.webhooks.send([event(1)])
        await stage.webhooks.dispatcher.turn()
        transport.answer(0, .answered(status: 200))
        try await eventually { settled.texts == ["1-9-1 true"] }
        try await stage.expectRequests(1)
        await stage.stop()
    }

    @Test func areNamedInTheirBatch() async throws {
        let stage = try await Stage(
            settings: settings,
            apps: [app(endpoints: [endpoint(isBatched: true)])]
        )
        stage.webhooks.send([event(1), event(2, queue: 3, on: "other")])
        await stage.webhooks.dispatcher.turn()
        await stage.advance(by: 50)
        try await stage.expectRequests(1)
        #expect(ids(stage) == ["1-9-1, 3-9-2"])
        try await eventually { settled.texts == ["1-9-1 true", "3-9-2 true"] }
        await stage.stop()
    }

    @Test func leaveNothingButDeadLettersInTheFile() async throws {
        let folder = try TemporaryFolder()
        var settings = settings
        settings.path = folder.path("webhooks.sqlite")
        let transport = ScriptedTransport { request, _ in
            String(decoding: request.body, as: UTF8.self).contains("dead")
                ? .answered(status: 410) : .failed("no answer")
        }
        let stage = try await Stage(
            settings: settings,
            apps: [app(endpoints: [endpoint()])],
            transport: transport
        )
        stage.webhooks.send([event(1), event(2, on: "dead")])
        try await eventually { settled.texts == ["1-9-2 false"] }
        await stage.stop()
        let queue = try WebhookQueue(reading: folder.path("webhooks.sqlite"))
        #expect(try queue.deliveryCount() == 0)
        #expect(try queue.deadLetters().map(\.channels) == [["dead"]])
    }
}
