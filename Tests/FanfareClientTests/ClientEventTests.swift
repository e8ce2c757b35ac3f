import Foundation
import PusherProtocol
import Testing

@testable import FanfareClient

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
            $0.authorization.channels = ChannelAuthorizer { _, _ in
                ChannelAuthorization(auth: "k:s")
            }
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

    @Test func reportsEachStatus() async {
        let bench = Bench()
        let seen = Seen<ConnectionStatus>()
        bench.client.onStatusChange { seen.add($0) }
        bench.client.connect()
        _ = await bench.transport.greet()
        bench.client.disconnect()
        await seen.wait(for: 3)
        #expect(
            seen.all == [.connecting(attempt: 1), .connected(socketID: "1.2"), .disconnected]
        )
    }
}
