import Broker
import BrokerConfiguration
import Testing

@testable import FanfareServer

@Suite("Subscription counts, Pusher protocol §13") struct SubscriptionCountTests {
    @Test(
        "All subscribers get the count of each change, the new one as well",
        arguments: [1, 3]
    )
    func tells(loops: Int) async throws {
        try await TestBroker.run(loops: loops) {
            $0.apps[0].features.subscriptionCount = true
        } _: { broker in
            for channel in ["chat", "private-a", "private-encrypted-b"] {
                let (first, _) = try await broker.subscribed(to: channel)
                #expect(try await first.nextText() == count(1, channel))
                let (second, _) = try await broker.subscribed(to: channel)
                for client in [first, second] {
                    #expect(try await client.nextText() == count(2, channel))
                }
                let (third, _) = try await broker.subscribed(to: channel)
                for client in [first, second, third] {
                    #expect(try await client.nextText() == count(3, channel))
                }
                try second.unsubscribe(from: channel)
                for client in [first, third] {
                    #expect(try await client.nextText() == count(2, channel))
                }
                try await second.expectNothing()
                try first.send(opcode: 8, [0x03, 0xE8])
                #expect(try await third.nextText() == count(1, channel))
                try await third.expectNothing()
            }
        }
    }

    @Test(
        "Presence channels have no subscription count",
        arguments: ["presence-x", "presence-cache-x"]
    )
    func notOnPresence(channel: String) async throws {
        try await TestBroker.run {
            $0.apps[0].features.subscriptionCount = true
        } _: { broker in
            let (client, _) = try await broker.subscribed(to: channel)
            if channel.contains("cache") { _ = try await client.nextText() }
            _ = try await broker.subscribed(to: channel)
            try await client.expectNothing()
        }
    }

    @Test("It is off by default")
    func offByDefault() async throws {
        try await TestBroker.run { broker in
            let (client, _) = try await broker.subscribed(to: "chat")
            _ = try await broker.subscribed(to: "chat")
            try await client.expectNothing()
        }
    }

    @Test("Above 100 subscribers the count is sent every five seconds, the last one always")
    func largeChannels() async throws {
        try await TestBroker.run {
            $0.apps[0].features.subscriptionCount = true
        } _: { broker in
            var clients: [WebSocketWire] = []
            for _ in 0..<101 { clients.append(try await broker.subscribed(to: "chat").0) }
            let last = try #require(clients.last)
            #expect(try await last.nextText() == count(101, "chat"))
            let start = ContinuousClock.now
            for _ in 0..<2 { clients.append(try await broker.subscribed(to: "chat").0) }
            try await last.expectNothing()
            #expect(try await last.nextText() == count(103, "chat"))
            // Minus the time between the notice and the start.
            #expect(ContinuousClock.now - start > .seconds(3))
            withExtendedLifetime(clients) {}
        }
    }
}
