import Broker
import BrokerConfiguration
import FanfareServer
import Foundation
import PusherProtocol
import Testing
import Webhooks

extension AppConfiguration {
    /// The development app, with webhooks.
    static func withWebhooks(_ webhooks: WebhookConfiguration...) -> AppConfiguration {
        var app = AppConfiguration.development
        app.webhooks = webhooks
        return app
    }
}

extension WebhookConfiguration {
    /// A webhook with changes to the default.
    static func to(
        _ url: String,
        _ change: (inout WebhookConfiguration) -> Void = { _ in }
    ) -> WebhookConfiguration {
        var webhook = WebhookConfiguration(url: url)
        change(&webhook)
        return webhook
    }
}

/// Webhooks from a broker with real clients; failures are tested in WebhooksTests.
@Suite("Webhooks: events for backends", .timeLimit(.minutes(1))) struct WebhookTests {
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

    @Test(
        "channel_occupied with the first subscriber, channel_vacated after the last has gone",
        arguments: [1, 3]
    )
    func channelExistence(loops: Int) async throws {
        try await run(loops: loops) { broker, receiver in
            let (first, _) = try await broker.connected()
            let (second, _) = try await broker.connected()
            for client in [first, second] { try await client.subscribe(to: "news") }
            try first.unsubscribe(from: "news")
            try await first.expectNothing()
            try second.unsubscribe(from: "news")
            #expect(
                try await receiver.events(2) == [
                    #"{"name":"channel_occupied","channel":"news"}"#,
                    #"{"name":"channel_vacated","channel":"news"}"#,
                ]
            )
            // Neither the second subscriber nor the first departure is an event.
            try await first.subscribe(to: "sport")
            #expect(try await receiver.events(3).last?.contains("sport") == true)
            #expect(receiver.events.count == 3)
        }
    }

    @Test("A client that reconnects within the delay causes no event")
    func quickReturn() async throws {
        try await run(absenceDelay: .seconds(2)) { broker, receiver in
            let (client, socketID) = try await broker.connected()
            _ = try await client.join("presence-hall", as: "ann", socketID: socketID)
            try await client.subscribe(to: "lobby")
            _ = try await receiver.events(3)
            try client.unsubscribe(from: "presence-hall")
            try await client.expectNothing()
            _ = try await client.join("presence-hall", as: "ann", socketID: socketID)
            // Departures are sent in their order: the earlier ones would have preceded this one.
            try client.unsubscribe(from: "lobby")
            let events = try await receiver.events(4)
            #expect(events.last == #"{"name":"channel_vacated","channel":"lobby"}"#)
            #expect(events.count(where: { $0.contains("hall") }) == 2)
        }
    }

    @Test(
        "member_added follows channel_occupied, member_removed precedes channel_vacated",
        arguments: [1, 3]
    )
    func members(loops: Int) async throws {
        try await run(loops: loops) { broker, receiver in
            var clients: [WebSocketWire] = []
            for user in ["ann", "ann", "żółć"] {
                let (client, _) = try await broker.joined("presence-hall", as: user)
                clients.append(client)
            }
            _ = try await receiver.events(3)
            for client in clients { try client.unsubscribe(from: "presence-hall") }
            let events = try await receiver.events(6)
            func event(_ name: String, _ user: String? = nil) -> String {
                let user = user.map { #","user_id":"\#($0)""# } ?? ""
                return #"{"name":"\#(name)","channel":"presence-hall"\#(user)}"#
            }
            #expect(
                Array(events.prefix(3)) == [
                    event("channel_occupied"), event("member_added", "ann"),
                    event("member_added", "żółć"),
                ]
            )
            #expect(events.last == event("channel_vacated"))
            #expect(
                Set(events[3..<5]) == [
                    event("member_removed", "ann"), event("member_removed", "żółć"),
                ]
            )
            #expect(receiver.events.count == 6)
        }
    }

    @Test("An endpoint gets the events that it selects, by kind, prefix and suffix")
    func filters() async throws {
        let receiver = try WebhookReceiver()
        try await TestBroker.run(loops: 2, absenceDelay: .milliseconds(1)) { configuration in
            configuration.apps = [
                .withWebhooks(
                    .to(receiver.url("/arrivals")) { $0.events = [.channelOccupied] },
                    .to(receiver.url("/private")) { $0.channelPrefix = "private-" },
                    .to(receiver.url("/europe")) {
                        $0.events = [.channelOccupied]
                        $0.channelSuffix = "-eu"
                    }
                )
            ]
        } _: { broker in
            let (client, socketID) = try await broker.connected()
            try client.send(subscribeMessage(to: "private-eu", socketID: socketID))
            _ = try await client.nextText()
            try await client.subscribe(to: "news")
            try client.unsubscribe(from: "news")
            try client.unsubscribe(from: "private-eu")
            _ = try await receiver.events(5)
            let requests = receiver.requests.map { "\($0.path) \($0.events)" }.sorted()
            #expect(
                requests == [
                    #"/arrivals {"name":"channel_occupied","channel":"news"}"#,
                    #"/arrivals {"name":"channel_occupied","channel":"private-eu"}"#,
                    #"/europe {"name":"channel_occupied","channel":"private-eu"}"#,
                    #"/private {"name":"channel_occupied","channel":"private-eu"}"#,
                    #"/private {"name":"channel_vacated","channel":"private-eu"}"#,
                ]
            )
        }
        await receiver.stop()
    }

    @Test("A webhook is signed with the app's own key, and has the fields of its endpoint")
    func signatureAndFields() async throws {
        let receiver = try WebhookReceiver()
        try await TestBroker.run { configuration in
            var app = AppConfiguration.withWebhooks(
                .to(receiver.url()) { $0.headers = ["X-Custom": "yes"] }
            )
            app.credentials = [.init(key: "new-key", secret: "new-secret")]
            configuration.apps = [app]
        } _: { broker in
            let (client, _) = try await broker.connected()
            try await client.subscribe(to: "news")
            _ = try await receiver.events(1)
            let request = try #require(receiver.requests.first)
            #expect(request.fields["Content-Type"] == "application/json")
            #expect(request.fields["X-Pusher-Key"] == "app-key")
            #expect(request.fields["X-Custom"] == "yes")
            #expect(request.isSigned(with: "app-secret"))
            #expect(!request.isSigned(with: "new-secret"))
            let time = try #require(request.body.firstMatch(of: /^\{"time_ms":(\d+),"events":/))
            let age = Date().timeIntervalSince1970 * 1_000 - (Double(time.1) ?? 0)
            #expect((-1...60_000).contains(age))
        }
        await receiver.stop()
    }
}
