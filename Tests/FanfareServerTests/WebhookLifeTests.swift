import Broker
import BrokerConfiguration
import FanfareServer
import Foundation
import HTTP1
import Testing
import Webhooks

/// Start, change and stop of webhooks with the broker.
@Suite("Webhooks: start, reload and stop", .timeLimit(.minutes(1))) struct WebhookLifeTests {
    private let folder: TemporaryFolder
    private let database: String

    init() throws {
        folder = try TemporaryFolder()
        database = folder.path("webhooks.sqlite")
    }

    private var hasDatabase: Bool { FileManager.default.fileExists(atPath: database) }

    /// Connects, subscribes, and returns the client.
    private func subscriber(_ channel: String, of broker: TestBroker) async throws -> WebSocketWire
    {
        let (client, _) = try await broker.connected()
        try await client.subscribe(to: channel)
        return client
    }

    @Test("Without webhooks, or for a disabled app, nothing is started")
    func nothingWithoutNeed() async throws {
        var disabled = AppConfiguration(id: "2", key: "second-key", secret: "second-secret")
        disabled.webhooks = [.to("http://127.0.0.1:9/")]
        disabled.isEnabled = false
        try await TestBroker.run { configuration in
            configuration.apps = [.development, disabled]
            configuration.webhooks.database = database
        } _: { broker in
            _ = try await subscriber("news", of: broker)
            #expect(!hasDatabase)
        }
        #expect(!hasDatabase)
    }

    @Test("A restart loses none: queued webhooks are sent by the next broker, unchanged")
    func restart() async throws {
        let port: UInt16
        let sent: WebhookReceiver.Request
        do {
            let receiver = try WebhookReceiver { Response(status: 503) }
            port = receiver.port
            try await TestBroker.run(loops: 2) { configuration in
                configuration.apps = [.withWebhooks(.to(receiver.url()))]
                configuration.webhooks.database = database
            } _: { broker in
                let client = try await subscriber("news", of: broker)
                _ = try await receiver.events(1)
                await receiver.stop()
                // This one is not sent yet.
                try await client.subscribe(to: "sport")
                try await eventually {
                    try WebhookQueue(reading: database).deliveryCount() == 2
                }
            }
            sent = try #require(receiver.requests.first)
        }
        #expect(try WebhookQueue(reading: database).deliveryCount() == 2)

        let receiver = try WebhookReceiver(port: port)
        try await TestBroker.run { configuration in
            configuration.apps = [.withWebhooks(.to(receiver.url()))]
            configuration.webhooks.database = database
        } _: { broker in
            let events = try await receiver.events(2)
            #expect(events.contains(#"{"name":"channel_occupied","channel":"sport"}"#))
            let again = try #require(receiver.requests.first { $0.events.contains("news") })
            #expect(again.body == sent.body)
            #expect(again.fields["X-Delivery-Id"] == sent.fields["X-Delivery-Id"])
            try await eventually { try WebhookQueue(reading: database).deliveryCount() == 0 }
        }
        await receiver.stop()
        #expect(receiver.requests.count == 2)
    }

    @Test("A deleted file is created again: a restart loses none")
    func deletedFile() async throws {
        let port: UInt16
        do {
            let receiver = try WebhookReceiver { Response(status: 503) }
            port = receiver.port
            try await TestBroker.run(loops: 2) { configuration in
                configuration.apps = [.withWebhooks(.to(receiver.url()))]
                configuration.webhooks.database = database
            } _: { broker in
                let client = try await subscriber("news", of: broker)
                try await client.subscribe(to: "sport")
                try await eventually {
                    try WebhookQueue(reading: database).deliveryCount() == 2
                }
                for ending in ["", "-wal", "-shm", "-lock"] {
                    try FileManager.default.removeItem(atPath: database + ending)
                }
                try await client.subscribe(to: "weather")
                try await eventually {
                    try hasDatabase && WebhookQueue(reading: database).deliveryCount() == 3
                }
                #expect(await broker.metric("fanfare_webhooks_unsaved") == 0)
            }
            await receiver.stop()
        }
        let receiver = try WebhookReceiver(port: port)
        try await TestBroker.run { configuration in
            configuration.apps = [.withWebhooks(.to(receiver.url()))]
            configuration.webhooks.database = database
        } _: { _ in
            let events = try await receiver.events(3)
            for channel in ["news", "sport", "weather"] {
                #expect(events.contains(#"{"name":"channel_occupied","channel":"\#(channel)"}"#))
            }
        }
        await receiver.stop()
    }

    @Test("A second broker with the same file does not start; a running one sends from memory")
    func sharedFile() async throws {
        let receiver = try WebhookReceiver()
        var configuration = Configuration.development
        configuration.port = 0
        configuration.apps = [.withWebhooks(.to(receiver.url()))]
        configuration.webhooks.database = database
        try await TestBroker.run {
            $0.apps = configuration.apps
            $0.webhooks.database = database
        } _: { _ in
            let second = try BrokerServer(configuration: configuration)
            do {
                _ = try await second.start()
                Issue.record("two brokers use one file")
            } catch {
                let id = ProcessInfo.processInfo.processIdentifier
                #expect(
                    "\(error)"
                        == "Webhooks cannot be sent: \(database) is in use by process \(id); each broker "
                        + "needs its own file. Stop that process, or set webhooks.database to another file"
                )
            }
            try await TestBroker.run {
                $0.webhooks.database = database
            } _: { third in
                try await third.server.reload(configuration)
                let client = try await subscriber("news", of: third)
                _ = try await receiver.events(1)
                _ = client
            }
        }
        await receiver.stop()
    }

    @Test("A stop sends no departures: clients reconnect elsewhere at once")
    func draining() async throws {
        let receiver = try WebhookReceiver()
        try await TestBroker.run(loops: 2, absenceDelay: .zero) { configuration in
            configuration.apps = [.withWebhooks(.to(receiver.url()))]
        } _: { broker in
            var clients: [WebSocketWire] = []
            for number in 0..<10 {
                clients.append(try await subscriber("c\(number)", of: broker))
            }
            _ = try await receiver.events(10)
            async let stop: Void = broker.server.stop(within: .seconds(10))
            for client in clients {
                while try await client.next().closeCode == nil {}
            }
            // They disconnect while the broker still waits for them.
            clients = []
            await stop
        }
        #expect(receiver.events.count == 10)
        await receiver.stop()
    }

    @Test("A stop ends within its deadline, however slow an endpoint is")
    func slowEndpoint() async throws {
        let receiver = try WebhookReceiver {
            try? await Task.sleep(for: .seconds(3_600))
            return .text("too late")
        }
        try await TestBroker.run { configuration in
            configuration.apps = [.withWebhooks(.to(receiver.url()))]
            configuration.webhooks.database = database
        } _: { broker in
            let client = try await subscriber("news", of: broker)
            _ = try await receiver.events(1)
            let clock = ContinuousClock()
            let time = await clock.measure { await broker.server.stop(within: .milliseconds(100)) }
            #expect(time < .seconds(3))
            _ = client
        }
        #expect(try WebhookQueue(reading: database).deliveryCount() == 1)
        await receiver.stop()
    }

    @Test("A reload starts webhooks, moves them to another endpoint, and stops them")
    func reloads() async throws {
        let (first, second) = (try WebhookReceiver(), try WebhookReceiver())
        var configuration = Configuration.development
        configuration.port = 0
        configuration.loops = 2
        configuration.webhooks.database = database
        try await TestBroker.run(loops: 2) {
            $0.webhooks.database = database
        } _: { broker in
            let client = try await subscriber("before", of: broker)
            for (receiver, channel) in [(first, "one"), (second, "two")] {
                configuration.apps = [.withWebhooks(.to(receiver.url()))]
                let reload = try await broker.server.reload(configuration)
                #expect(reload.restartKeys == [])
                try await client.subscribe(to: channel)
                #expect(
                    try await receiver.events(1)
                        == [#"{"name":"channel_occupied","channel":"\#(channel)"}"#]
                )
            }
            #expect(hasDatabase)
            configuration.apps = [.development]
            try await broker.server.reload(configuration)
            try await client.subscribe(to: "after")
        }
        // The stop has sent all due webhooks.
        #expect(first.events.count == 1)
        #expect(second.events.count == 1)
        await first.stop()
        await second.stop()
    }

    @Test("An unreadable trust file is an error at start")
    func badTrustFile() async throws {
        var configuration = Configuration.development
        configuration.port = 0
        configuration.apps = [.withWebhooks(.to("https://127.0.0.1:9/"))]
        configuration.webhooks.trust = folder.path("none.pem")
        let server = try BrokerServer(configuration: configuration)
        await #expect(throws: StartError.self) { try await server.start() }
    }
}
