import Broker
import BrokerConfiguration
import FanfareServer
import FanfareStorage
import FanfareTesting
import Foundation
import Logging
import Net
import Testing

@testable import FanfareClient

/// A broker, a relay in front of it, and a client that reads without the relay.
private struct Setting {
    let server: BrokerServer
    let relay: FaultyRelay
    let relayPort: UInt16
    let port: UInt16
    let backend: SigningBackend

    init(seed: UInt64 = 1) async throws {
        var configuration = Configuration.development
        configuration.port = 0
        configuration.loops = 2
        configuration.apps[0].limits.clientEventRate = Rate(perSecond: 1_000_000)
        let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        server = try BrokerServer(configuration: configuration, log: log)
        port = try #require(try await server.start().plain?.port)
        (relay, relayPort) = try await FaultyRelay.start(to: port, seed: seed)
        backend = try SigningBackend(user: "ann")
    }

    func client(
        port: UInt16,
        _ change: (inout ClientOptions) -> Void = { _ in }
    ) -> Fanfare {
        var options = ClientOptions()
        options.reconnection.backoff = Backoff(
            floor: .zero,
            window: .milliseconds(2),
            cap: .milliseconds(5)
        )
        options.authorization.channels = .endpoint(AuthorizationEndpoint(backend.url("/auth")))
        options.limits.clientEventsPerSecond = nil
        change(&options)
        let endpoint = Endpoint.plain(host: "127.0.0.1", port: port)
        return Fanfare(key: "app-key", endpoint: endpoint, options: options)
    }

    func stop(_ clients: Fanfare...) async {
        for client in clients { client.disconnect() }
        await relay.stop()
        await backend.stop()
        await server.stop(within: .seconds(1))
    }
}

@Suite("Client events over a network with faults", .timeLimit(.minutes(5))) struct OutboxTests {
    /// The number of cuts; `CUTS` sets another.
    private static let cutCount =
        ProcessInfo.processInfo.environment["CUTS"].flatMap { Int($0) } ?? 1_000

    @Test("Over many cuts each event arrives once and in order, and is said to be accepted")
    func cuts() async throws {
        let setting = try await Setting(seed: .random(in: 1...1_000))
        let reader = setting.client(port: setting.port)
        let deliveries = reader.channel("private-a").subscription()
            .deliveries(of: EventName<Int>("client-n"))
        reader.connect()
        try await reader.channel("private-a").waitUntilSubscribed()

        // Long enough for an upgrade, a subscription and some events.
        await setting.relay.cut(within: 8_000)
        let sender = setting.client(port: setting.relayPort)
        sender.subscribe("private-a")
        sender.connect()
        let channel = sender.channel("private-a")
        var pending: [PendingEvent] = []
        while await setting.relay.cutCount < Self.cutCount {
            do {
                pending.append(try channel.trigger("client-n", pending.count))
            } catch {
                // The queue is full, or the subscription was cut and refused.
            }
            try await Task.sleep(for: .microseconds(300))
        }
        await setting.relay.cut(within: nil)
        for event in pending { #expect(try await event.delivery() == .accepted) }
        var received: [Int] = []
        for try await delivery in deliveries {
            guard case .event(let number, _) = delivery else {
                Issue.record("\(delivery)")
                continue
            }
            received.append(number)
            if number == pending.count - 1 { break }
        }
        #expect(received == Array(0..<pending.count))
        #expect(pending.count >= 100)
        await setting.stop(reader, sender)
    }

    @Test("Over many runs of an app and many cuts each event arrives once and in order")
    func restarts() async throws {
        let file = FileManager.default.temporaryDirectory
            .appending(path: "restarts-\(UUID().uuidString).sqlite")
        defer { try? FileManager.default.removeItem(at: file) }
        let setting = try await Setting(seed: .random(in: 1...1_000))
        let reader = setting.client(port: setting.port)
        let deliveries = reader.channel("private-a").subscription()
            .deliveries(of: EventName<Int>("client-n"))
        reader.connect()
        try await reader.channel("private-a").waitUntilSubscribed()

        await setting.relay.cut(within: 6_000)
        var count = 0
        for _ in 1...20 {
            let store = try SQLiteOutbox(path: file.path)
            let client = setting.client(port: setting.relayPort) {
                $0.recovery.outbox = store
                $0.limits.clientEventQueueCountMax = 10_000
                $0.limits.clientEventQueueBytesMax = 1 << 20
            }
            let channel = client.subscribe("private-a")
            client.connect()
            var pending: [PendingEvent] = []
            let cuts = await setting.relay.cutCount + 5
            while await setting.relay.cutCount < cuts || pending.count < 20 {
                // Refused while a cut has refused the subscription.
                if let event = try? channel.trigger("client-n", count) {
                    pending.append(event)
                    count += 1
                }
                try await Task.sleep(for: .microseconds(300))
            }
            for event in pending { try await event.waitUntilStored() }
            // Closed and released with what waits, as if the app had been killed.
            client.suspend()
        }
        await setting.relay.cut(within: nil)
        let store = try SQLiteOutbox(path: file.path)
        let client = setting.client(port: setting.port) {
            $0.recovery.outbox = store
            $0.limits.clientEventQueueCountMax = 10_000
        }
        client.subscribe("private-a")
        client.connect()
        var received: [Int] = []
        for try await delivery in deliveries {
            guard case .event(let number, _) = delivery else { continue }
            received.append(number)
            if received.count == count { break }
        }
        #expect(received == Array(0..<count))
        await setting.stop(reader, client)
    }

    @Test(
        "A connection that goes silent is replaced within the limit of a check, else within the configured time",
        arguments: [true, false]
    )
    func silence(checks: Bool) async throws {
        let setting = try await Setting()
        // The client's own clock, so that the time does not depend on how busy the machine is.
        let clock = ManualClock()
        let client = setting.client(port: setting.relayPort) {
            $0.clock = ClientClock(clock)
            $0.network.checksConnectionOnChange = false
        }
        client.connect()
        try await client.waitUntilConnected()
        var statuses = client.statuses().makeAsyncIterator()
        #expect(await statuses.next()?.isConnected == true)
        await setting.relay.swallowFromOpenConnections()
        let start = clock.now
        let options = client.options
        if checks { client.checkConnection(within: .seconds(4)) }
        let steps =
            checks ? [.seconds(4)] : [options.network.activityTimeout, options.network.pongTimeout]
        for step in steps {
            try await clock.waitForSleep(of: step)
            clock.advance(by: step)
        }
        guard case .waiting(let delay, let error) = await statuses.next() else {
            Issue.record("the client should have noticed")
            return
        }
        #expect(error.code == .pingUnanswered)
        try await clock.waitForSleep(of: delay)
        clock.advance(by: delay)
        try await client.waitUntilConnected()
        let elapsed = start.duration(to: clock.now)
        let configured =
            options.network.activityTimeout + options.network.pongTimeout
            + options.reconnection.backoff.cap
        #expect(elapsed < (checks ? .seconds(5) : configured))
        await setting.stop(client)
    }
}
