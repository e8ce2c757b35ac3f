import Broker
import PusherProtocol
import Testing

@testable import Webhooks

@Suite("Dispatch, Pusher: Webhooks", .timeLimit(.minutes(1))) struct DispatcherTests {
    private let room = channel("presence-room")

    @Test func oneEventIsOneRequestWithItsTime() async throws {
        let stage = try await Stage(apps: [app(endpoints: [endpoint()])])
        await stage.report(.channelOccupied(channel()), .subscriptionCount(channel(), 1))
        try await stage.expectRequests(2)
        #expect(
            stage.transport.bodies.first
                == #"{"time_ms":1700000000123,"events":"#
                + #"[{"name":"channel_occupied","channel":"my-channel"}]}"#
        )
        try await stage.waitForCounters { $0.delivered == 2 && $0.queued == 0 }
        await stage.stop()
    }

    @Test func aReconnectWithinThreeSecondsIsNoWebhook() async throws {
        let stage = try await Stage(apps: [app(endpoints: [endpoint()])])
        await stage.report(.memberRemoved(room, userID: UserID("a")), .channelVacated(room))
        await stage.advance(by: 2_999)
        await stage.report(.channelOccupied(room), .memberAdded(room, userID: UserID("a")))
        await stage.advance(by: 60_000)
        #expect(stage.webhooks.counters.queued == 0)
        try await stage.expectRequests(0)
        await stage.stop()
    }

    @Test func whoStaysAwayIsToldOfAfterThreeSeconds() async throws {
        let stage = try await Stage(apps: [app(endpoints: [endpoint()])])
        await stage.report(.memberRemoved(room, userID: UserID("a")), .channelVacated(room))
        // The timer alone triggers the turn.
        stage.clock.advance(by: 3_000)
        try await stage.expectRequests(2)
        #expect(
            stage.transport.events == [
                #"[{"name":"member_removed","channel":"presence-room","user_id":"a"}]"#,
                #"[{"name":"channel_vacated","channel":"presence-room"}]"#,
            ]
        )
        await stage.stop()
    }

    @Test func filtersComeBeforeTheSignature() async throws {
        let stage = try await Stage(apps: [
            app(endpoints: [
                endpoint("http://all.test", isBatched: true),
                endpoint("http://eu.test", suffix: "-eu", isBatched: true),
                endpoint("http://misses.test", kinds: [.cacheMiss]),
            ])
        ])
        await stage.report(.channelOccupied(channel("a-eu")), .channelOccupied(channel("b")))
        await stage.advance(by: 50)
        try await stage.expectRequests(2)
        let byURL = Dictionary(
            uniqueKeysWithValues: stage.transport.requests.map { ($0.url, $0) }
        )
        let filtered = try #require(byURL["http://eu.test"])
        #expect(!String(decoding: filtered.body, as: UTF8.self).contains("\"b\""))
        for request in byURL.values {
            let signature = request.headers.first { $0.name == "X-Pusher-Signature" }?.value
            #expect(verify(signature, request.body, "secret-1"))
        }
        await stage.stop()
    }

    private func verify(_ signature: String?, _ body: [UInt8], _ secret: String) -> Bool {
        WebhookSignature.verify(signature ?? "", body: body.span, secret: AppSecret(secret))
    }

    @Test func aBatchHoldsEventsOfOneAppInTheirOrder() async throws {
        let second = AppID("2")
        let stage = try await Stage(apps: [
            app(endpoints: [endpoint(isBatched: true)]),
            app(second, endpoints: [endpoint(isBatched: true)]),
        ])
        await stage.report(.channelOccupied(channel("a")), .cacheMiss(channel("cache-a")))
        await stage.report(.channelOccupied(channel("b")), of: second)
        await stage.advance(by: 49)
        #expect(stage.webhooks.counters.queued == 0)
        await stage.advance(by: 1)
        try await stage.expectRequests(2)
        #expect(
            Set(stage.transport.events) == [
                #"[{"name":"channel_occupied","channel":"a"},"#
                    + #"{"name":"cache_miss","channel":"cache-a"}]"#,
                #"[{"name":"channel_occupied","channel":"b"}]"#,
            ]
        )
        for request in stage.transport.requests {
            let key = request.headers.first { $0.name == "X-Pusher-Key" }?.value
            let signature = request.headers.first { $0.name == "X-Pusher-Signature" }?.value
            let secret = key == "key-1" ? "secret-1" : "secret-2"
            #expect(verify(signature, request.body, secret))
        }
        await stage.stop()
    }

    @Test func aFullBatchIsSentAtOnce() async throws {
        let stage = try await Stage(apps: [app(endpoints: [endpoint(isBatched: true)])])
        for count in 1...101 {
            stage.webhooks.report(.subscriptionCount(channel(), count), of: appID)
        }
        await stage.webhooks.dispatcher.turn()
        try await stage.expectRequests(1)
        let body = try #require(stage.transport.bodies.first)
        #expect(body.contains(#""subscription_count":100}"#) && !body.contains(":101}"))
        try await stage.waitForCounters { $0.delivered == 1 }
        await stage.advance(by: 50)
        try await stage.expectRequests(2)
        await stage.stop()
    }

    @Test func aBatchStaysBelowItsLength() async throws {
        var settings = WebhookSettings()
        settings.batchLengthMax = 100
        let stage = try await Stage(
            settings: settings,
            apps: [app(endpoints: [endpoint(isBatched: true)])]
        )
        // 44 bytes each: three would be 134.
        for name in ["a-12", "b-12", "c-12"] { await stage.report(.channelOccupied(channel(name))) }
        await stage.advance(by: 50)
        try await stage.expectRequests(2)
        #expect(stage.transport.events.map { $0.utf8.count - 2 }.sorted() == [44, 89])
        await stage.stop()
    }

    @Test func theSecondMissOfACacheIsNotSent() async throws {
        let stage = try await Stage(apps: [app(endpoints: [endpoint()])])
        let cache = channel("cache-a")
        await stage.report(
            .cacheMiss(cache),
            .cacheMiss(cache),
            .cacheFilled(cache),
            .cacheMiss(cache)
        )
        try await stage.waitForCounters { $0.delivered == 2 && $0.queued == 0 }
        try await stage.expectRequests(2)
        await stage.stop()
    }

    @Test func reportsThatComeTooFastAreCounted() async throws {
        var settings = WebhookSettings()
        settings.reportCountMax = 10
        let webhooks = Webhooks(
            settings: settings,
            apps: [app(endpoints: [endpoint()])],
            log: Stage.silence,
            clock: ManualClock(),
            random: SystemRandomNumberGenerator(),
            transport: ScriptedTransport()
        )
        // Nothing processes them before the start.
        for count in 1...25 { webhooks.report(.subscriptionCount(channel(), count), of: appID) }
        try await webhooks.start()
        try await eventually { webhooks.counters.delivered == 10 }
        #expect(webhooks.counters.dropped == 15)
        await webhooks.stop(within: .seconds(1))
    }

    @Test func aReloadTakesEffectAndKeepsWhatWaits() async throws {
        let transport = ScriptedTransport { request, _ in
            request.url == "http://old.test" ? nil : .answered(status: 200)
        }
        let old = endpoint("http://old.test")
        let stage = try await Stage(apps: [app(endpoints: [old])], transport: transport)
        await stage.report(.channelOccupied(channel()), .cacheMiss(channel()))
        try await stage.expectRequests(1)
        // Same endpoint, new key: queued webhooks are signed with the new key.
        await stage.webhooks.replace(apps: [
            WebhookApp(id: appID, key: "new-key", secret: AppSecret("new"), endpoints: [old])
        ])
        transport.answer(0, .answered(status: 200))
        try await stage.expectRequests(2)
        let second = try #require(transport.requests.last)
        #expect(second.headers.contains { $0.name == "X-Pusher-Key" && $0.value == "new-key" })
        let signature = second.headers.first { $0.name == "X-Pusher-Signature" }?.value
        #expect(verify(signature, second.body, "new"))
        // Removing the endpoint removes its queue.
        await stage.report(.channelOccupied(channel("b")), .cacheMiss(channel("b")))
        await stage.webhooks.replace(apps: [app(endpoints: [endpoint("http://new.test")])])
        #expect(stage.webhooks.counters.dead == 1)
        await stage.report(.channelOccupied(channel("c")))
        try await stage.waitForCounters { $0.delivered == 2 }
        await stage.stop()
    }

    @Test func afterTheStopNothingIsSentAndDeparturesAreDropped() async throws {
        let stage = try await Stage(apps: [app(endpoints: [endpoint()])])
        await stage.report(.channelVacated(room))
        await stage.stop()
        await stage.report(.channelOccupied(room))
        await stage.advance(by: 60_000)
        #expect(stage.transport.requests.isEmpty)
        #expect(stage.transport.isClosed)
    }

    @Test func whileClientsAreSentAwayDeparturesAreNotTold() async throws {
        let stage = try await Stage(apps: [app(endpoints: [endpoint()])])
        await stage.webhooks.suppressDepartures()
        await stage.report(.channelVacated(room), .cacheMiss(channel("cache-a")))
        await stage.advance(by: 60_000)
        try await stage.waitForCounters { $0.delivered == 1 }
        #expect(stage.transport.events.allSatisfy { $0.contains("cache_miss") })
        await stage.stop()
    }

    @Test func theStopWaitsForRequestsInFlight() async throws {
        let transport = ScriptedTransport { _, _ in nil }
        let stage = try await Stage(
            apps: [app(endpoints: [endpoint(isBatched: true)])],
            transport: transport
        )
        // Not even the batch window is awaited.
        await stage.report(.channelOccupied(channel()))
        async let stop: Void = stage.webhooks.stop(within: .seconds(5))
        try await eventually { transport.waitingCount == 1 }
        transport.answer(0, .answered(status: 200))
        await stop
        #expect(stage.webhooks.counters.delivered == 1)
    }
}
