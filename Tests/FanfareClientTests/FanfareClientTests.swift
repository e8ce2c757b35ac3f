import FanfareTesting
import Foundation
import PusherProtocol
import Synchronization
import Testing

@testable import FanfareClient

/// A client with a scripted transport and a manual clock.
struct Bench {
    let transport = ScriptedTransport()
    let clock = ManualClock()
    let client: Fanfare
    private let ending: Ending

    /// Disconnects when it is deallocated: a connected client retains itself.
    private final class Ending: Sendable {
        private let client: Fanfare
        init(of client: Fanfare) { self.client = client }
        deinit { client.disconnect() }
    }

    init(_ change: (inout ClientOptions) -> Void = { _ in }) {
        var options = ClientOptions()
        options.transport = transport
        options.clock = ClientClock(clock)
        change(&options)
        client = Fanfare(
            key: "app-key",
            endpoint: .plain(host: "broker.test", port: 6001, pathPrefix: "/live"),
            options: options
        )
        ending = Ending(of: client)
    }

    /// Connects, with a confirmed subscription.
    func subscribe(to channel: String) async -> ScriptedConnection {
        client.subscribe(channel)
        client.connect()
        let connection = await transport.greet()
        #expect(await connection.confirm(channel))
        return connection
    }
}

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
        let bench = Bench { $0.activityTimeout = .seconds(40) }
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
            options.transport = transport
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

@Suite("Channels and events", .timeLimit(.minutes(1))) struct ClientEventTests {
    private struct User: Codable, Equatable {
        var name: String
    }

    @Test func losesNotEvenTheFirstEvent() async throws {
        let bench = Bench()
        let channel = bench.client.channel("a")
        let events = channel.subscription().deliveries("e")
        bench.client.connect()
        let connection = await bench.transport.greet()
        #expect(await connection.next() == .send(.subscribe("a")))
        connection.deliver(.subscriptionSucceeded(channel: "a", data: "{}"))
        for number in 0..<100 { connection.event("e", "a", String(number)) }
        var expected = 0
        for try await case .event(let event, _) in events {
            #expect(event.data == String(expected))
            expected += 1
            if expected == 100 { break }
        }
    }

    @Test func deliversByTopic() async throws {
        let bench = Bench()
        let seen = Seen<String>()
        let a = bench.client.channel("a")
        a.bind("x") { seen.add("a.x \($0.name)") }
        a.bind { seen.add("a.* \($0.name)") }
        bench.client.bind("x") { seen.add("*.x \($0.channel ?? "")") }
        bench.client.bind { seen.add("*.* \($0.channel ?? "").\($0.name)") }
        let connection = await bench.subscribe(to: "a")
        bench.client.subscribe("b")
        #expect(await connection.confirm("b"))
        connection.event("x", "a", nil)
        connection.event("y", "a", nil)
        connection.event("x", "b", nil)
        connection.event("x", "c", nil)
        await seen.wait(for: 11)
        let succeeded = "pusher:subscription_succeeded"
        #expect(
            seen.all == [
                "a.* \(succeeded)", "*.* a.\(succeeded)", "*.* b.\(succeeded)",
                "a.x x", "a.* x", "*.x a", "*.* a.x", "a.* y", "*.* a.y", "*.x b", "*.* b.x",
            ]
        )
    }

    @Test func mayBeCalledFromItsCallbacks() async {
        let bench = Bench()
        let seen = Seen<String>()
        let channel = bench.client.channel("a")
        let done = AsyncStream.makeStream(of: Void.self)
        // Callbacks that capture their client leak it unless they are cancelled.
        channel.bind("e") { [weak client = bench.client] event in
            seen.add("outer")
            client?.channel("a").bind("e") { [weak client] _ in
                seen.add("inner")
                client?.disconnect()
                done.continuation.finish()
            }
        }
        let connection = await bench.subscribe(to: "a")
        connection.event("e", "a", nil)
        await seen.wait(for: 1)
        connection.event("e", "a", nil)
        for await _ in done.stream {}
        #expect(seen.all.prefix(3) == ["outer", "outer", "inner"])
        #expect(bench.client.status == .disconnected)
    }

    @Test func decodesPayloads() async throws {
        let bench = Bench()
        let (users, errors) = (Seen<User>(), Seen<FanfareError>())
        let name = EventName<User>("addUser")
        let channel = bench.client.channel("a")
        channel.bind(name) { users.add($0) }
        bench.client.onError { errors.add($0) }
        let connection = await bench.subscribe(to: "a")
        connection.event("addUser", "a", #"{"name":"Ann"}"#)
        connection.event("addUser", "a", #"{"nick":"Bob"}"#)
        connection.event("addUser", "a", nil)
        connection.event("addUser", "a", #"{"name":"Cid"}"#)
        await users.wait(for: 2)
        await errors.wait(for: 2)
        #expect(users.all == [User(name: "Ann"), User(name: "Cid")])
        #expect(errors.all.map(\.code) == [.undecodable, .undecodable])
        #expect(errors.all.first?.event?.data == #"{"nick":"Bob"}"#)
    }

    @Test("Typed events are decoded by the decoder of the call, or by that of the options")
    func decodesWithTheDecoderOfTheApp() async throws {
        struct Moment: Codable, Equatable { var createdAt: Date }
        let ofOptions = JSONDecoder()
        ofOptions.dateDecodingStrategy = .secondsSince1970
        ofOptions.keyDecodingStrategy = .convertFromSnakeCase
        let ofCall = JSONDecoder()
        ofCall.dateDecodingStrategy = .millisecondsSince1970
        ofCall.keyDecodingStrategy = .convertFromSnakeCase
        let bench = Bench { $0.decoder = ofOptions }
        let name = EventName<Moment>("e")
        let channel = bench.client.channel("a")
        let seen = Seen<Moment>()
        channel.bind(name) { seen.add($0) }
        channel.bind(name, decoder: ofCall) { seen.add($0) }
        let subscription = channel.subscription()
        var first = subscription.deliveries(of: name).makeAsyncIterator()
        var second = subscription.deliveries(of: name, decoder: ofCall).makeAsyncIterator()
        let connection = await bench.subscribe(to: "a")
        connection.event("e", "a", #"{"created_at":7000}"#)
        let dates = [7000, 7].map { Moment(createdAt: Date(timeIntervalSince1970: $0)) }
        await seen.wait(for: 2)
        #expect(seen.all == dates)
        #expect(try await first.event() == dates[0])
        #expect(try await second.event() == dates[1])
    }

    @Test("Client events are encoded by the encoder of the call, or by that of the options")
    func encodesWithTheEncoderOfTheApp() async throws {
        struct Typing: Codable { var userName: String }
        let snake = JSONEncoder()
        snake.keyEncodingStrategy = .convertToSnakeCase
        let bench = Bench {
            $0.encoder = snake
            $0.channelAuthorizer = ChannelAuthorizer { _, _ in ChannelAuthorization(auth: "k:s") }
        }
        let channel = bench.client.subscribe("private-a")
        bench.client.connect()
        let connection = await bench.transport.greet()
        _ = await connection.next()
        connection.deliver(.subscriptionSucceeded(channel: "private-a", data: "{}"))
        try channel.trigger("client-e", Typing(userName: "ann"))
        try channel.trigger("client-e", Typing(userName: "ann"), encoder: JSONEncoder())
        for expected in [#"{"user_name":"ann"}"#, #"{"userName":"ann"}"#] {
            guard case .send(.clientEvent(let event)) = await connection.next() else {
                Issue.record("an event should be sent")
                return
            }
            #expect(event.data == expected)
        }
    }

    @Test func waitsForSubscriptions() async throws {
        let bench = Bench()
        let channel = bench.client.channel("a")
        await #expect(throws: FanfareError.unsubscribed(channel: "a")) {
            try await channel.waitUntilSubscribed()
        }
        let connection = await bench.subscribe(to: "a")
        try await channel.waitUntilSubscribed()
        #expect(channel.isSubscribed)

        let other = bench.client.subscribe("b")
        let waiting = Task { try await other.waitUntilSubscribed() }
        #expect(await connection.next() == .send(.subscribe("b")))
        let refusal = ServerMessage.subscriptionError(
            channel: "b",
            type: "AuthError",
            message: "no",
            status: 401
        )
        while !bench.client.hasWaiters(for: "b") { await Task.yield() }
        connection.deliver(refusal)
        await #expect(
            throws: FanfareError.subscriptionRefused(
                channel: "b",
                kind: "AuthError",
                message: "no",
                status: 401
            )
        ) { try await waiting.value }

        let left = bench.client.subscribe("c")
        let leaving = Task { try await left.waitUntilSubscribed() }
        while !bench.client.hasWaiters(for: "c") { await Task.yield() }
        left.unsubscribe()
        await #expect(throws: FanfareError.unsubscribed(channel: "c")) { try await leaving.value }

        let cancelled = bench.client.subscribe("d")
        let cancelling = Task { try await cancelled.waitUntilSubscribed() }
        cancelling.cancel()
        await #expect(throws: CancellationError.self) { try await cancelling.value }
    }

    @Test func reportsTheBrokersErrors() async {
        let bench = Bench()
        let errors = Seen<FanfareError>()
        bench.client.onError { errors.add($0) }
        let connection = await bench.subscribe(to: "a")
        connection.deliver(.error(code: nil, message: "No current subscription to channel b"))
        connection.deliver(Array("{".utf8))
        connection.deliver(Array(#"{"event":7}"#.utf8))
        await errors.wait(for: 3)
        #expect(
            errors.all.first
                == .reported(code: nil, message: "No current subscription to channel b")
        )
        #expect(errors.all.count == 3)
        #expect(bench.client.status.isConnected)
    }

    @Test func reportsStatusChangesWithTheOldOne() async {
        let bench = Bench()
        let seen = Seen<StatusChange>()
        bench.client.onStatusChange { seen.add($0) }
        bench.client.connect()
        _ = await bench.transport.greet()
        bench.client.disconnect()
        await seen.wait(for: 3)
        let statuses: [ConnectionStatus] = [
            .disconnected, .connecting(attempt: 1), .connected(socketID: "1.2"), .disconnected,
        ]
        #expect(
            seen.all == zip(statuses, statuses.dropFirst()).map { StatusChange(old: $0, new: $1) }
        )
    }
}
