import Broker
import BrokerConfiguration
import FanfareServer
import PusherProtocol
import Testing
import Webhooks

@Suite("Webhooks: events of clients and caches", .timeLimit(.minutes(1))) struct WebhookEventTests {
    /// Runs a broker whose app sends a backend all events that `webhook` selects.
    private func run(
        loops: Int = 2,
        absenceDelay: Duration = .milliseconds(50),
        _ change: (inout WebhookConfiguration) -> Void = { _ in },
        _ body: (TestBroker, WebhookReceiver) async throws -> Void
    ) async throws {
        let receiver = try WebhookReceiver()
        try await TestBroker.run(loops: loops, absenceDelay: absenceDelay) { configuration in
            configuration.apps = [.withWebhooks(.to(receiver.url(), change))]
        } _: { broker in
            try await body(broker, receiver)
        }
        await receiver.stop()
    }

    @Test("client_event has event, data, sender, and on presence channels the user")
    func clientEvents() async throws {
        try await run {
            $0.events = [.clientEvent]
        } _: { broker, receiver in
            let (client, socketID) = try await broker.connected()
            _ = try await client.join("presence-hall", as: "ann", socketID: socketID)
            try client.send(subscribeMessage(to: "private-room", socketID: socketID))
            _ = try await client.nextText()
            try client.send(
                #"{"event":"client-a","channel":"presence-hall","data":"{\"n\":\"Żółć\ud83d\"}"}"#
            )
            try client.send(#"{"event":"client-b","channel":"private-room","data":{"n":1}}"#)
            #expect(
                Set(try await receiver.events(2)) == [
                    #"{"name":"client_event","channel":"presence-hall","event":"client-a","data":"{\"n\":\"Żółć\ud83d\"}","socket_id":"\#(socketID)","user_id":"ann"}"#,
                    #"{"name":"client_event","channel":"private-room","event":"client-b","data":"{\"n\":1}","socket_id":"\#(socketID)"}"#,
                ]
            )
            // Events of backends are not client events.
            _ = try await broker.trigger("e", "1", on: "private-room")
            _ = try await client.nextText()
            try client.send(#"{"event":"client-c","channel":"private-room","data":"1"}"#)
            #expect(try await receiver.events(3).last?.contains("client-c") == true)
        }
    }

    @Test(
        "cache_miss once for a cache that stays empty"
    )
    func cacheMisses() async throws {
        try await run {
            $0.events = [.cacheMiss]
        } _: { broker, receiver in
            for _ in 0..<3 {
                let (client, _) = try await broker.connected()
                try await client.subscribe(to: "cache-news")
                #expect(try await client.nextText().contains("pusher:cache_miss"))
            }
            let (client, _) = try await broker.connected()
            try await client.subscribe(to: "cache-sport")
            #expect(
                try await receiver.events(2) == [
                    #"{"name":"cache_miss","channel":"cache-news"}"#,
                    #"{"name":"cache_miss","channel":"cache-sport"}"#,
                ]
            )
        }
    }

    @Test("subscription_count with the number, when the app counts its subscribers")
    func subscriptionCounts() async throws {
        let receiver = try WebhookReceiver()
        try await TestBroker.run(loops: 2) { configuration in
            var app = AppConfiguration.withWebhooks(
                .to(receiver.url()) { $0.events = [.subscriptionCount] }
            )
            app.features.subscriptionCount = true
            configuration.apps = [app]
        } _: { broker in
            let (first, _) = try await broker.connected()
            try await first.subscribe(to: "news")
            _ = try await receiver.events(1)
            let (second, _) = try await broker.connected()
            try await second.subscribe(to: "news")
            #expect(
                try await receiver.events(2) == [
                    #"{"name":"subscription_count","channel":"news","subscription_count":1}"#,
                    #"{"name":"subscription_count","channel":"news","subscription_count":2}"#,
                ]
            )
        }
        await receiver.stop()
    }
}
