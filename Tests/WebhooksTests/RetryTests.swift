import Broker
import PusherProtocol
import Testing

@testable import Webhooks

@Suite("Failures, Pusher: Webhooks, error handling", .timeLimit(.minutes(1))) struct RetryTests {
    private let a = channel("a")
    private let b = channel("b")

    /// Advances the clock in small steps until a condition holds.
    private func run(
        _ stage: Stage,
        for limit: Int64 = 400_000,
        inStepsOf step: Int64 = 100,
        until condition: () -> Bool
    ) async throws {
        let end = stage.clock.uptime + limit
        while !condition(), stage.clock.uptime < end {
            await stage.advance(by: step)
            // Requests in flight end without the clock.
            try await eventually { await stage.webhooks.dispatcher.sends.isEmpty }
        }
        #expect(condition())
    }

    @Test(arguments: [
        SendOutcome.answered(status: 500), .answered(status: 404), .answered(status: 301),
        .answered(status: 199), .failed("the connection was refused"),
    ])
    func everythingButA2xxIsTriedAgainUnchanged(outcome: SendOutcome) async throws {
        let transport = ScriptedTransport { _, number in
            number < 3 ? outcome : .answered(status: 299)
        }
        let stage = try await Stage(apps: [app(endpoints: [endpoint()])], transport: transport)
        await stage.report(.channelOccupied(a))
        try await run(stage, for: 10_000) { stage.webhooks.counters.delivered == 1 }
        let requests = transport.requests
        #expect(requests.count == 4)
        // The same bytes, `time_ms`, signature and ID.
        #expect(requests.allSatisfy { $0 == requests.first })
        // 1 + 2 + 4 seconds, each ±20 %, and at most a step of the clock each.
        #expect((5_600...8_700).contains(stage.clock.uptime))
        #expect(stage.webhooks.counters.failedAttempts == 3)
        await stage.stop()
    }

    @Test(
        "Setting the calendar neither ends the attempts nor prolongs them",
        arguments: [3_600_000, -3_600_000, 31_536_000_000]
    )
    func calendar(step: Int64) async throws {
        let transport = ScriptedTransport { _, number in
            number < 2 ? .answered(status: 503) : .answered(status: 200)
        }
        let stage = try await Stage(apps: [app(endpoints: [endpoint()])], transport: transport)
        await stage.report(.channelOccupied(a))
        try await stage.expectRequests(1)
        stage.clock.setCalendar(by: step)
        try await run(stage, for: 10_000) { stage.webhooks.counters.delivered == 1 }
        #expect(transport.requests.count == 3 && stage.webhooks.counters.dead == 0)
        #expect((2_400...3_900).contains(stage.clock.uptime))
        await stage.stop()

        let refusing = ScriptedTransport { _, _ in .answered(status: 503) }
        let other = try await Stage(apps: [app(endpoints: [endpoint()])], transport: refusing)
        await other.report(.channelOccupied(a))
        try await other.expectRequests(1)
        other.clock.setCalendar(by: step)
        try await run(other, inStepsOf: 5_000) { other.webhooks.counters.dead == 1 }
        #expect((200_000...305_000).contains(other.clock.uptime))
        await other.stop()
    }

    @Test func afterFiveMinutesItIsADeadLetter() async throws {
        let transport = ScriptedTransport { _, _ in .answered(status: 503) }
        let folder = try TemporaryFolder()
        let stage = try await Stage(
            settings: WebhookSettings(path: folder.path()),
            apps: [app(endpoints: [endpoint()])],
            transport: transport
        )
        await stage.report(.channelOccupied(a))
        try await run(stage) { stage.webhooks.counters.dead == 1 }
        #expect(stage.clock.uptime <= 300_000)
        #expect((9...12).contains(transport.requests.count))
        await stage.stop()
        let letter = try #require(try WebhookQueue(reading: folder.path()).deadLetters().first)
        #expect(letter.cause == .exhausted)
        #expect(letter.detail == "the endpoint answered 503")
        #expect(letter.attempts == transport.requests.count)
        #expect(letter.eventsJSON == #"[{"name":"channel_occupied","channel":"a"}]"#)
    }

    @Test func gone410EndsItAtOnce() async throws {
        let transport = ScriptedTransport { _, _ in .answered(status: 410) }
        let stage = try await Stage(apps: [app(endpoints: [endpoint()])], transport: transport)
        await stage.report(.channelOccupied(a))
        try await stage.waitForCounters { $0.dead == 1 }
        await stage.advance(by: 600_000)
        #expect(transport.requests.count == 1)
        #expect(stage.webhooks.counters.queued == 0)
        await stage.stop()
    }

    @Test func aFailingRequestIsNotOvertakenOnItsChannel() async throws {
        let transport = ScriptedTransport { request, number in
            let isOfA = String(decoding: request.body, as: UTF8.self).contains(#""channel":"a""#)
            return .answered(status: isOfA && number < 5 ? 500 : 200)
        }
        let stage = try await Stage(apps: [app(endpoints: [endpoint()])], transport: transport)
        await stage.report(.subscriptionCount(a, 1), .subscriptionCount(a, 2))
        for count in 1...3 { await stage.report(.subscriptionCount(b, count)) }
        // Those of the other channel are sent.
        try await stage.waitForCounters { $0.delivered == 3 }
        #expect(stage.webhooks.counters.queued == 2)
        try await run(stage, for: 30_000) { stage.webhooks.counters.delivered == 5 }
        let counts = transport.events.compactMap { text in
            text.contains(#""channel":"a""#) ? text.split(separator: ":").last : nil
        }
        #expect(counts.last == "2}]" && counts.dropLast().allSatisfy { $0 == "1}]" })
        await stage.stop()
    }

    @Test func aSlowEndpointHoldsUpNoOther() async throws {
        let transport = ScriptedTransport { request, _ in
            request.url == "http://slow.test" ? nil : .answered(status: 200)
        }
        let stage = try await Stage(
            apps: [app(endpoints: [endpoint("http://slow.test"), endpoint("http://fast.test")])],
            transport: transport
        )
        for number in 0..<50 { await stage.report(.channelOccupied(channel("c\(number)"))) }
        try await stage.waitForCounters { $0.delivered == 50 }
        // Only as many of the slow one are in flight.
        #expect(transport.waitingCount == 8)
        #expect(stage.webhooks.counters.queued == 50)
        await stage.stop()
    }

    @Test func aFullQueueEvictsTheOldest() async throws {
        var settings = WebhookSettings()
        settings.queueCountMax = 3
        let transport = ScriptedTransport { _, _ in nil }
        let stage = try await Stage(
            settings: settings,
            apps: [app(endpoints: [endpoint()])],
            transport: transport
        )
        for count in 1...5 { await stage.report(.subscriptionCount(a, count)) }
        #expect(stage.webhooks.counters.queued == 3)
        #expect(stage.webhooks.counters.dead == 2)
        // The first was in flight; the second and the third were evicted.
        for number in 0..<3 {
            try await stage.expectRequests(number + 1)
            try await eventually { transport.waitingCount == 1 }
            transport.answer(number, .answered(status: 200))
        }
        try await stage.waitForCounters { $0.delivered == 3 }
        let counts = transport.events.compactMap { $0.split(separator: ":").last }
        #expect(counts == ["1}]", "4}]", "5}]"])
        await stage.stop()
    }
}
