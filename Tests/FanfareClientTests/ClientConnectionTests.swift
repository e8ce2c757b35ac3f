import BrokerConfiguration
import FanfareTesting
import PusherProtocol
import Testing

@testable import FanfareClient

@Suite("A client's connection", .timeLimit(.minutes(1))) struct ClientConnectionTests {
    @Test func connectsToItsApp() async throws {
        let bench = Bench()
        bench.client.connect()
        let connection = await bench.transport.accept()
        #expect(
            connection.request.target
                == "/live/app/app-key?protocol=7&client=fanfare-swift&receipts=true"
        )
        #expect(bench.client.socketID == nil)
        connection.deliver(.connectionEstablished(socketID: SocketID(1, 2), activityTimeout: 120))
        #expect(try await bench.client.waitUntilConnected() == "1.2")
        #expect(bench.client.socketID == "1.2")
        bench.client.disconnect()
        #expect(await connection.next() == .close(code: 1000))
        #expect(bench.client.status == .disconnected)
    }

    @Test func reportsEveryStatusInOrder() async throws {
        let bench = Bench()
        var statuses = bench.client.statuses().makeAsyncIterator()
        #expect(await statuses.next() == .disconnected)
        bench.client.connect()
        let first = await bench.transport.greet()
        #expect(await statuses.next() == .connecting(attempt: 1))
        #expect(await statuses.next() == .connected(socketID: "1.2"))
        first.end(.closeFrame(code: 4200, reason: "restart"))
        #expect(await statuses.next() == .connecting(attempt: 2))
        let second = await bench.transport.accept()
        second.end(.unreachable(reason: "refused"))
        guard case .waiting(let delay, let because) = await statuses.next() else {
            Issue.record("the client should wait")
            return
        }
        #expect(because == .unreachable(bench.client.endpoint, reason: "refused"))
        try await bench.clock.waitForSleep(of: delay)
        bench.clock.advance(by: delay)
        #expect(await statuses.next() == .connecting(attempt: 3))
        await bench.transport.accept().end(.closeFrame(code: 4001, reason: "no such app"))
        #expect(
            await statuses.next()
                == .failed(because: .refused(code: 4001, message: "no such app"))
        )
    }

    @Test("Changed settings apply from the next connection on")
    func adjusts() async throws {
        let bench = Bench()
        bench.client.adjust {
            $0.activityTimeout = .seconds(7)
            $0.reconnectAttemptCountMax = 0
        }
        bench.client.connect()
        let connection = await bench.transport.greet()
        try await bench.clock.waitForSleep(of: .seconds(7))
        connection.end(.cut(reason: "gone"))
        #expect(bench.client.status == .failed(because: .closed(code: nil, reason: "gone")))
    }

    @Test func ignoresAConnectionThatItHasClosed() async {
        let bench = Bench()
        let seen = Seen<String>()
        let connection = await bench.subscribe(to: "a")
        bench.client.channel("a").bind { seen.add($0.name) }
        bench.client.disconnect()
        connection.event("e", "a", "1")
        connection.end(.closeFrame(code: 4200, reason: ""))
        #expect(bench.client.status == .disconnected)
        bench.client.connect()
        let second = await bench.transport.greet()
        #expect(await second.confirm("a"))
        await seen.wait(for: 1)
        #expect(seen.all == ["pusher:subscription_succeeded"])
    }

    @Test func pingsAndTimesOutByItsClock() async throws {
        let bench = Bench { $0.network.activityTimeout = .seconds(40) }
        bench.client.connect()
        let connection = await bench.transport.greet()
        try await bench.clock.waitForSleep(of: .seconds(40))
        bench.clock.advance(by: .seconds(40))
        #expect(await connection.next() == .send(.ping))
        try await bench.clock.waitForSleep(of: .seconds(30))
        bench.clock.advance(by: .seconds(30))
        #expect(await connection.next() == .close(code: 1000))
        guard case .waiting(_, let error) = bench.client.status else {
            Issue.record("the client should wait, but is \(bench.client.status)")
            return
        }
        #expect(error.code == .pingUnanswered)
    }

    @Test func failsWaitingTasksWhenTheBrokerRefuses() async {
        let bench = Bench()
        let events = bench.client.channel("a").subscription().deliveries()
        let connecting = Task { try await bench.client.waitUntilConnected() }
        bench.client.connect()
        let subscribing = Task { try await bench.client.channel("a").waitUntilSubscribed() }
        let connection = await bench.transport.accept()
        connection.deliver(.error(code: .appDoesNotExist, message: "no such app"))
        let error = FanfareError.refused(code: 4001, message: "no such app")
        var iterator = events.makeAsyncIterator()
        await #expect(throws: error) { try await iterator.next() }
        await #expect(throws: error) { try await subscribing.value }
        // The task may have started before connect() was called.
        await #expect(throws: FanfareError.self) { try await connecting.value }
        #expect(error.description.contains("Check the app's key"))
    }

    @Test func isRetainedWhileConnected() async {
        let transport = ScriptedTransport()
        let seen = AsyncStream.makeStream(of: String?.self)
        func start() {
            var options = ClientOptions()
            options.network.transport = ClientTransport(transport)
            let client = Fanfare(
                key: "k",
                endpoint: .plain(host: "h"),
                options: options
            )
            client.channel("a").bind("e") { seen.continuation.yield($0.data) }
            client.subscribe("a")
            client.connect()
        }
        start()
        let connection = await transport.greet()
        #expect(await connection.confirm("a"))
        connection.event("e", "a", "1")
        for await data in seen.stream {
            #expect(data == "1")
            break
        }
        connection.end(.closeFrame(code: 4009, reason: ""))
    }

    @Test func isDeallocatedWhenDisconnected() async {
        weak var released: Fanfare?
        do {
            let bench = Bench()
            let connection = await bench.subscribe(to: "a")
            bench.client.channel("a").bind("e") { _ in }
            bench.client.disconnect()
            connection.end(.cut(reason: ""))
            released = bench.client
        }
        for _ in 0..<1000 where released != nil { await Task.yield() }
        #expect(released == nil)
    }
}
