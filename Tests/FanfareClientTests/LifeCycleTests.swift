import FanfareTesting
import PusherProtocol
import Synchronization
import Testing

@testable import FanfareClient

/// A network whose changes a test reports.
private final class ScriptedNetwork: Sendable {
    private final class Observer: Sendable {
        let changed: @Sendable () -> Void
        init(_ changed: @escaping @Sendable () -> Void) { self.changed = changed }
    }

    private struct Reference: Sendable {
        weak let observer: Observer?
    }

    private let references = Mutex<[Reference]>([])

    var monitor: NetworkMonitor {
        NetworkMonitor { changed in
            let observer = Observer(changed)
            self.references.withLock { $0.append(Reference(observer: observer)) }
            return observer
        }
    }

    var isObserved: Bool { !observers.isEmpty }

    func change() { for observer in observers { observer.changed() } }

    private var observers: [Observer] { references.withLock { $0.compactMap(\.observer) } }
}

@Suite("The life cycle of a client", .timeLimit(.minutes(1))) struct LifeCycleTests {
    // MARK: Suspension

    @Test("Tasks that wait go on waiting over a suspension")
    func suspendsWaitingTasks() async throws {
        let bench = Bench {
            $0.authorization.user = UserAuthenticator { _ in
                UserAuthentication(auth: "k:s", userData: #"{"id":"ann"}"#)
            }
        }
        let channel = bench.client.subscribe("a")
        bench.client.connect()
        _ = await bench.transport.accept()
        let connected = Task { try await bench.client.waitUntilConnected() }
        let subscribed = Task { try await channel.waitUntilSubscribed() }
        bench.client.signIn()
        let signedIn = Task { try await bench.client.waitUntilSignedIn().id }
        await eventually("a waiting task") { bench.client.hasWaiters(for: "a") }
        bench.client.suspend()
        #expect(bench.client.status == .suspended)
        bench.client.connect()
        let connection = await bench.transport.greet()
        #expect(await connection.confirm("a"))
        _ = await connection.next()
        connection.deliver(.signinSuccess(userData: #"{"id":"ann"}"#))
        #expect(try await connected.value == "1.2")
        try await subscribed.value
        #expect(try await signedIn.value == "ann")
    }

    @Test func closesTheConnectionWhenItIsSuspended() async {
        let bench = Bench()
        let connection = await bench.subscribe(to: "a")
        bench.client.suspend()
        #expect(await connection.next() == .close(code: 1000))
        #expect(!bench.client.channel("a").isSubscribed)
        bench.client.disconnect()
        #expect(bench.client.status == .disconnected)
    }

    @Test("Member lists stay over a suspension, and the differences are one change")
    func keepsMembers() async throws {
        let bench = Bench {
            $0.authorization.channels = ChannelAuthorizer { _, _ in
                ChannelAuthorization(auth: "k:s", channelData: #"{"user_id":"1"}"#)
            }
        }
        let presence = bench.client.subscribe("presence-a").presence
        var changes = presence.changes.makeAsyncIterator()
        for members in [["1", "2"], ["1", "3"]] {
            bench.client.connect()
            let connection = await bench.transport.greet()
            _ = await connection.next()
            let hash = members.map { "\"\($0)\":null" }.joined(separator: ",")
            let data = #"{"presence":{"hash":{\#(hash)}}}"#
            connection.deliver(.subscriptionSucceeded(channel: "presence-a", data: data))
            let change = try await changes.next()
            #expect(change?.roster.members.map(\.id) == members)
            #expect(change?.left.map(\.id) == (members[1] == "3" ? ["2"] : []))
            bench.client.suspend()
            #expect(presence.roster?.members.count == 2)
        }
    }

    // MARK: Checks

    @Test func checksByItsClock() async throws {
        let bench = Bench()
        let connection = await bench.subscribe(to: "a")
        bench.client.checkConnection(within: .seconds(7))
        #expect(await connection.next() == .send(.ping))
        try await bench.clock.waitForSleep(of: .seconds(7))
        bench.clock.advance(by: .seconds(7))
        #expect(await connection.next() == .close(code: 1000))
        guard case .waiting(_, let error) = bench.client.status else {
            Issue.record("the client should wait, but is \(bench.client.status)")
            return
        }
        #expect(error == .pingUnanswered(limit: .seconds(7)))
        // A check while the client waits ends the wait.
        bench.client.checkConnection()
        _ = await bench.transport.accept()
    }

    @Test("A server that swallows everything is noticed, and the client connects again")
    func noticesASwallowingServer() async throws {
        let (server, port) = try await ScriptedServer.start()
        var options = ClientOptions()
        options.reconnection.backoff = Backoff(
            floor: .zero,
            window: .milliseconds(1),
            cap: .milliseconds(2)
        )
        let client = Fanfare(
            key: "app-key",
            endpoint: .plain(host: "127.0.0.1", port: port),
            options: options
        )
        let subscription = client.channel("a").subscription()
        var events = subscription.deliveries("e").makeAsyncIterator()
        client.connect()
        try await client.channel("a").waitUntilSubscribed()
        // An answered check changes nothing.
        client.checkConnection(within: .seconds(20))
        await server.wait(for: .said(.ping))
        // Its pong has arrived when this has: else it would answer the next check.
        await server.send(.event(ReceivedEvent(name: "e", channel: "a", data: "0")))
        #expect(try await events.event()?.data == "0")
        #expect(client.status.isConnected)

        await server.swallow()
        var statuses = client.statuses().makeAsyncIterator()
        #expect(await statuses.next()?.isConnected == true)
        client.checkConnection(within: .milliseconds(50))
        guard case .waiting(_, let error) = await statuses.next() else {
            Issue.record("the client should wait for its next attempt")
            return
        }
        #expect(error == .pingUnanswered(limit: .milliseconds(50)))
        try await client.channel("a").waitUntilSubscribed()
        await server.send(.event(ReceivedEvent(name: "e", channel: "a", data: "1")))
        #expect(try await events.next() == .gap(Gap(.brokerHasNoHistory)))
        #expect(try await events.event()?.data == "1")
        client.disconnect()
        await server.stop()
    }

    @Test("Suspended and connected again through a real socket, events go on behind a gap")
    func suspendsARealConnection() async throws {
        let (server, port) = try await ScriptedServer.start()
        let client = Fanfare(
            key: "app-key",
            endpoint: .plain(host: "127.0.0.1", port: port)
        )
        var events = client.channel("a").subscription().deliveries("e").makeAsyncIterator()
        for round in 1...3 {
            client.connect()
            try await client.channel("a").waitUntilSubscribed()
            await server.send(.event(ReceivedEvent(name: "e", channel: "a", data: "\(round)")))
            if round > 1 { #expect(try await events.next() == .gap(Gap(.brokerHasNoHistory))) }
            #expect(try await events.event()?.data == "\(round)")
            client.suspend()
            #expect(client.status == .suspended)
            await server.wait(for: .gone)
        }
        client.disconnect()
        await server.stop()
    }

    // MARK: The network

    @Test("A change of the network checks the connection")
    func followsTheNetwork() async {
        let network = ScriptedNetwork()
        let bench = Bench { $0.network.monitor = network.monitor }
        let connection = await bench.subscribe(to: "a")
        network.change()
        #expect(await connection.next() == .send(.ping))
        // An earlier check is still to be answered.
        network.change()
        connection.end(.cut(reason: "gone"))
        // While the client waits, a change makes the next attempt.
        network.change()
        let second = await bench.transport.greet()
        #expect(await second.confirm("a"))
    }

    @Test("The network is observed between connect() and the end of the attempts")
    func observesTheNetworkWhileItConnects() async {
        let network = ScriptedNetwork()
        let bench = Bench { $0.network.monitor = network.monitor }
        let client = bench.client
        let ends: [(ScriptedConnection) -> Void] = [
            { _ in client.disconnect() }, { _ in client.suspend() },
            { $0.end(.closeFrame(code: 4001, reason: "no such app")) },
        ]
        for end in ends {
            #expect(!network.isObserved)
            client.connect()
            #expect(network.isObserved)
            let connection = await bench.transport.greet()
            connection.end(.cut(reason: ""))
            #expect(network.isObserved)
            client.connect()
            end(await bench.transport.greet())
        }
        #expect(!network.isObserved)
    }

    @Test func doesNotObserveTheNetworkWhenSwitchedOff() async {
        let network = ScriptedNetwork()
        let bench = Bench {
            $0.network.monitor = network.monitor
            $0.network.checksConnectionOnChange = false
        }
        _ = await bench.subscribe(to: "a")
        #expect(!network.isObserved)
    }

    @Test("The system's network can be observed")
    func observesTheSystem() {
        #expect(NetworkMonitor.system.observe {} != nil)
    }
}
