import Broker
import BrokerConfiguration
import PusherProtocol
import Testing

@testable import FanfareServer
@testable import Gateway

@Suite("Limits of quantities") struct QuantityLimitTests {
    @Test func subscriptionsOfAConnection() async throws {
        try await TestBroker.run {
            $0.apps[0].limits.subscriptionsMax = 2
        } _: { broker in
            let (client, _) = try await broker.connected()
            for channel in ["a", "b"] { try await client.subscribe(to: channel) }
            try client.send(#"{"event":"pusher:subscribe","data":{"channel":"c"}}"#)
            #expect(try await client.nextText().contains("LimitReached"))
            _ = try await client.nextText()
            #expect(await broker.hits(.subscriptions) == 1)
            try client.send(#"{"event":"pusher:unsubscribe","data":{"channel":"a"}}"#)
            try await client.subscribe(to: "c")
        }
    }

    @Test(arguments: [1, 3]) func membersOfAChannel(loops: Int) async throws {
        try await TestBroker.run(loops: loops) {
            $0.apps[0].limits.membersMax = 1
        } _: { broker in
            let (ann, _) = try await broker.joined("presence-x", as: "ann")
            let (client, socketID) = try await broker.connected()
            try client.send(
                subscribeMessage(
                    to: "presence-x",
                    socketID: socketID,
                    data: #"{"user_id":"bob"}"#
                )
            )
            #expect(try await client.nextText().contains("LimitReached"))
            #expect(await broker.hits(.members) == 1)
            // The member stays.
            try await ann.subscribe(to: "news")
        }
    }

    @Test func watchedUsers() async throws {
        try await TestBroker.run {
            $0.apps[0].features.watchlist = true
            $0.apps[0].limits.watchlistMax = 2
        } _: { broker in
            let (client, _) = try await broker.signedIn(as: "ann", watching: ["a", "b", "c"])
            #expect(try await client.nextText().contains(#""code":4302"#))
            #expect(try await client.nextText() == watchlistEvents(offline: ["a", "b"]))
            #expect(await broker.hits(.watchlist) == 1)
        }
    }

    @Test func cachedEvents() async throws {
        try await TestBroker.run {
            $0.apps[0].limits.cachedEventsMax = 2
        } _: { broker in
            for number in 0..<3 {
                let answer = try await broker.trigger("e", "1", on: "cache-\(number)")
                #expect(answer.status == 200)
            }
            #expect(await broker.hits(.cachedEvents) == 1)
        }
    }

    @Test func idempotencyKeys() async throws {
        try await TestBroker.run {
            $0.apps[0].limits.idempotencyKeysMax = 2
        } _: { broker in
            var answers: [String] = []
            for key in ["a", "b", "c", "c", "a"] {
                let body = #"{"name":"e","channel":"a","data":"1","idempotency_key":"\#(key)"}"#
                let request = SignedRequest(path: "/apps/1/events", body: body)
                answers.append(try await Wire(port: broker.port).ask(request).body)
            }
            #expect(answers == ["{}", "{}", "{}", #"{"repeated":true}"#, "{}"])
            #expect(await broker.hits(.idempotencyKeys) == 2)
        }
    }

    @Test("Too much memory for incomplete messages: the largest are closed with 4100")
    func incompleteMessages() async throws {
        // A quarter of a MiB for received data, half of it for partially received messages.
        try await TestBroker.run {
            $0.queuedBytesTotalMax = 1 << 20
        } _: { broker in
            let shard = broker.server.shards[0]
            let part = Frames.frame(1, [UInt8](repeating: 0x20, count: 50_000), announced: 60_000)
            let (small, _) = try await broker.connected()
            try await small.wire.pour(Frames.ping.prefix(10).map { $0 })
            var large: [WebSocketWire] = []
            for _ in 0..<20 {
                let (client, _) = try await broker.connected()
                try await client.wire.pour(part)
                large.append(client)
            }
            try await eventually { await broker.hits(.inboundBytes) >= 10 }
            try await eventually { await shard.inboundByteCount <= 1 << 17 }
            // There is memory for triggers.
            #expect(try await broker.trigger("e", "1", on: "news").status == 200)
            let closed = large.filter(\.wire.hasPeerEnded)
            #expect(closed.count < large.count)
            for client in closed { try await client.expectEnd(4100) }
            // Clients with short incomplete messages, and all others, are served.
            try await small.wire.pour(Frames.ping.dropFirst(10).map { $0 })
            #expect(try await small.nextText().contains("pusher:pong"))
            try await broker.connected().0.subscribe(to: "news")
            // After completion or close no memory is taken.
            for client in large { client.wire.reset() }
            try await eventually { await shard.inboundByteCount == 0 }
        }
    }

    @Test("Too many messages between two loops: 503 and Retry-After")
    func relayedEvents() async throws {
        try await TestBroker.run(loops: 2, lineLengthMax: -1) { broker in
            let answer = try await broker.trigger("e", "1", on: "news")
            #expect(answer.status == 503)
            #expect(answer.head.lowercased().contains("\r\nretry-after: 1\r\n"))
            #expect(await broker.hits(.relayedEvents) == 1)
        }
    }
}
