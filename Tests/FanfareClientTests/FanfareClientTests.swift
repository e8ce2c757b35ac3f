import Dispatch
import FanfareTesting
import PusherProtocol
import Synchronization
import Testing

@testable import FanfareClient

/// A client with a scripted transport and a manual clock.
struct Bench {
    let transport = ScriptedTransport()
    let clock = ManualClock()
    let client: FanfareClient
    private let ending: Ending

    /// Disconnects when it is deallocated: a connected client retains itself.
    private final class Ending: Sendable {
        private let client: FanfareClient
        init(of client: FanfareClient) { self.client = client }
        deinit { client.disconnect() }
    }

    init(_ change: (inout ClientOptions) -> Void = { _ in }) {
        var options = ClientOptions()
        options.transport = transport
        options.clock = ClientClock(clock)
        change(&options)
        client = FanfareClient(
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

/// The values passed to callbacks, in order.
final class Seen<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])
    func add(_ value: Value) { values.withLock { $0.append(value) } }
    var all: [Value] { values.withLock { $0 } }

    /// Waits until a number of callbacks on a queue have been called.
    ///
    /// The client schedules calls in blocks: a call posted while a block runs is in the next block, which may be behind
    /// a `sync`.
    func wait(for count: Int, on queue: DispatchQueue) {
        repeat { queue.sync {} } while all.count < count
    }
}

@Suite("A client's connection", .timeLimit(.minutes(1))) struct ClientConnectionTests {
    @Test func connectsToItsApp() async throws {
        let bench = Bench()
        bench.client.connect()
        let connection = await bench.transport.accept()
        #expect(
            connection.request.target == "/live/app/app-key?protocol=7&client=fanfare-swift"
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
        let connection = await bench.subscribe(to: "a")
        let events = bench.client.channel("a").events()
        bench.client.disconnect()
        connection.event("e", "a", "1")
        connection.end(.closeFrame(code: 4200, reason: ""))
        #expect(bench.client.status == .disconnected)
        var iterator = events.makeAsyncIterator()
        #expect(await (try? iterator.next()) == .some(nil))
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
        guard case .waiting(_, .pingUnanswered) = bench.client.status else {
            Issue.record("the client should wait, but is \(bench.client.status)")
            return
        }
    }

    @Test func failsWaitingTasksWhenTheBrokerRefuses() async {
        let bench = Bench()
        let events = bench.client.channel("a").events()
        let connecting = Task { try await bench.client.waitUntilConnected() }
        bench.client.subscribe("a")
        bench.client.connect()
        let subscribing = Task { try await bench.client.channel("a").waitUntilSubscribed() }
        let connection = await bench.transport.accept()
        connection.deliver(.error(code: .appDoesNotExist, message: "no such app"))
        let error = FanfareError.refused(code: 4001, message: "no such app")
        var iterator = events.makeAsyncIterator()
        do {
            _ = try await iterator.next()
            Issue.record("the sequence should fail")
        } catch {
            #expect(error == .refused(code: 4001, message: "no such app"))
        }
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
            let client = FanfareClient(
                key: "k",
                endpoint: .plain(host: "h"),
                options: options
            )
            client.channel("a").bind("e", on: DispatchQueue(label: "test")) {
                seen.continuation.yield($0.data)
            }
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
        weak var released: FanfareClient?
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
        let events = channel.events("e")
        channel.subscribe()
        bench.client.connect()
        let connection = await bench.transport.greet()
        #expect(await connection.next() == .send(.subscribe("a")))
        connection.deliver(.subscriptionSucceeded(channel: "a", data: "{}"))
        for number in 0..<100 { connection.event("e", "a", String(number)) }
        var expected = 0
        for try await event in events {
            #expect(event.data == String(expected))
            expected += 1
            if expected == 100 { break }
        }
    }

    @Test func deliversByTopic() async throws {
        let bench = Bench()
        let queue = DispatchQueue(label: "test")
        let seen = Seen<String>()
        let a = bench.client.channel("a")
        a.bind("x", on: queue) { seen.add("a.x \($0.name)") }
        a.bind(on: queue) { seen.add("a.* \($0.name)") }
        bench.client.bind("x", on: queue) { seen.add("*.x \($0.channel ?? "")") }
        bench.client.bind(on: queue) { seen.add("*.* \($0.channel ?? "").\($0.name)") }
        let connection = await bench.subscribe(to: "a")
        bench.client.subscribe("b")
        #expect(await connection.confirm("b"))
        connection.event("x", "a", nil)
        connection.event("y", "a", nil)
        connection.event("x", "b", nil)
        connection.event("x", "c", nil)
        seen.wait(for: 11, on: queue)
        let succeeded = "pusher:subscription_succeeded"
        #expect(
            seen.all == [
                "a.* \(succeeded)", "*.* a.\(succeeded)", "*.* b.\(succeeded)",
                "a.x x", "a.* x", "*.x a", "*.* a.x", "a.* y", "*.* a.y", "*.x b", "*.* b.x",
            ]
        )
    }

    @Test func callsOnTheMainActorInOrder() async {
        let bench = Bench()
        let seen = Seen<String?>()
        let done = AsyncStream.makeStream(of: Void.self)
        bench.client.channel("a").bind("e") { event in
            MainActor.preconditionIsolated()
            seen.add(event.data)
            if event.data == "999" { done.continuation.finish() }
        }
        let connection = await bench.subscribe(to: "a")
        for number in 0..<1000 { connection.event("e", "a", String(number)) }
        for await _ in done.stream {}
        #expect(seen.all == (0..<1000).map { String($0) })
    }

    @Test @MainActor func callsNothingAfterUnbindReturnedOnItsQueue() async {
        let bench = Bench()
        let seen = Seen<String?>()
        let binding = bench.client.channel("a").bind("e") { seen.add($0.data) }
        let connection = await bench.subscribe(to: "a")
        // The events wait for the main actor, which is busy here, when unbind is called.
        for number in 0..<100 { connection.event("e", "a", String(number)) }
        binding.unbind()
        binding.unbind()
        await withCheckedContinuation { continuation in
            bench.client.channel("a").bind("end") { _ in continuation.resume() }
            connection.event("end", "a", nil)
        }
        #expect(seen.all == [])
        #expect(!binding.isActive)
    }

    @Test func mayBeCalledFromItsCallbacks() async {
        let bench = Bench()
        let queue = DispatchQueue(label: "test")
        let seen = Seen<String>()
        let channel = bench.client.channel("a")
        let done = AsyncStream.makeStream(of: Void.self)
        // Callbacks that capture their client leak it unless they are unbound.
        channel.bind("e", on: queue) { [weak client = bench.client] event in
            seen.add("outer")
            client?.channel("a").bind("e", on: queue) { [weak client] _ in
                seen.add("inner")
                client?.disconnect()
                done.continuation.finish()
            }
        }
        let connection = await bench.subscribe(to: "a")
        connection.event("e", "a", nil)
        queue.sync {}
        connection.event("e", "a", nil)
        for await _ in done.stream {}
        #expect(seen.all.prefix(3) == ["outer", "outer", "inner"])
        #expect(bench.client.status == .disconnected)
    }

    @Test func decodesPayloads() async throws {
        let bench = Bench()
        let queue = DispatchQueue(label: "test")
        let (users, errors) = (Seen<User>(), Seen<FanfareError>())
        let name = EventName<User>("addUser")
        let channel = bench.client.channel("a")
        channel.bind(name, on: queue) { users.add($0) }
        bench.client.onError(on: queue) { errors.add($0) }
        var decoded = channel.events(name).makeAsyncIterator()
        let connection = await bench.subscribe(to: "a")
        connection.event("addUser", "a", #"{"name":"Ann"}"#)
        connection.event("addUser", "a", #"{"nick":"Bob"}"#)
        connection.event("addUser", "a", nil)
        connection.event("addUser", "a", #"{"name":"Cid"}"#)
        // Errors that callbacks report are delivered after them, on the same queue.
        while errors.all.count < 2 || users.all.count < 2 { queue.sync {} }
        #expect(users.all == [User(name: "Ann"), User(name: "Cid")])
        #expect(errors.all.count == 2)
        #expect(try await decoded.next() == User(name: "Ann"))
        for _ in 0..<2 { await #expect(throws: FanfareError.self) { try await decoded.next() } }
        #expect(try await decoded.next() == User(name: "Cid"))
    }

    @Test func endsAChannelsSequencesWhenItIsUnsubscribed() async throws {
        let bench = Bench()
        let connection = await bench.subscribe(to: "a")
        var ofChannel = bench.client.channel("a").events().makeAsyncIterator()
        var global = bench.client.events("e").makeAsyncIterator()
        bench.client.unsubscribe("a")
        #expect(await connection.next() == .send(.unsubscribe(channel: "a")))
        connection.event("e", "a", "late")
        #expect(try await ofChannel.next() == nil)
        bench.client.subscribe("a")
        #expect(await connection.confirm("a"))
        connection.event("e", "a", "1")
        #expect(try await global.next()?.data == "1")
    }

    @Test func throwsWhenASequenceIsReadTooSlowly() async throws {
        let bench = Bench()
        var events = bench.client.channel("a").events("e", bufferLimit: 10).makeAsyncIterator()
        let connection = await bench.subscribe(to: "a")
        for number in 0..<11 { connection.event("e", "a", String(number)) }
        for number in 0..<10 { #expect(try await events.next()?.data == String(number)) }
        do {
            _ = try await events.next()
            Issue.record("the sequence should fail")
        } catch {
            #expect(error == .overflow(limit: 10))
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
        let queue = DispatchQueue(label: "test")
        let errors = Seen<FanfareError>()
        bench.client.onError(on: queue) { errors.add($0) }
        let connection = await bench.subscribe(to: "a")
        connection.deliver(.error(code: nil, message: "No current subscription to channel b"))
        connection.deliver(Array("{".utf8))
        connection.deliver(Array(#"{"event":7}"#.utf8))
        errors.wait(for: 3, on: queue)
        #expect(
            errors.all.first
                == .reported(code: nil, message: "No current subscription to channel b")
        )
        #expect(errors.all.count == 3)
        #expect(bench.client.status.isConnected)
    }

    @Test func stopsReadingWhileCallbacksAreSlowAndLosesNothing() async {
        let bench = Bench { $0.maxPendingCallbacks = 10 }
        let queue = DispatchQueue(label: "test")
        let seen = Seen<String?>()
        bench.client.channel("a").bind("e", on: queue) { seen.add($0.data) }
        let connection = await bench.subscribe(to: "a")
        queue.suspend()
        // A transport may have read messages it has not delivered; those are still accepted.
        for number in 0..<20 { connection.event("e", "a", String(number)) }
        #expect(await connection.next() == .pauseReading)
        queue.resume()
        #expect(await connection.next() == .resumeReading)
        queue.sync {}
        #expect(seen.all == (0..<20).map { String($0) })
    }

    @Test func stopsReadingByTheSizeOfWaitingEvents() async {
        let bench = Bench { $0.pendingCallbackBytesMax = 1000 }
        let queue = DispatchQueue(label: "test")
        bench.client.channel("a").bind("e", on: queue) { _ in }
        let connection = await bench.subscribe(to: "a")
        queue.suspend()
        connection.event("e", "a", String(repeating: "x", count: 1000))
        #expect(await connection.next() == .pauseReading)
        // A new connection is paused too.
        connection.end(.closeFrame(code: 4200, reason: ""))
        let second = await bench.transport.accept()
        #expect(await second.next() == .pauseReading)
        queue.resume()
        #expect(await second.next() == .resumeReading)
    }

    @Test func reportsStatusChangesWithTheOldOne() async {
        let bench = Bench()
        let queue = DispatchQueue(label: "test")
        let seen = Seen<[ConnectionStatus]>()
        bench.client.onStatusChange(on: queue) { seen.add([$0, $1]) }
        bench.client.connect()
        _ = await bench.transport.greet()
        bench.client.disconnect()
        seen.wait(for: 3, on: queue)
        let statuses: [ConnectionStatus] = [
            .disconnected, .connecting(attempt: 1), .connected(socketID: "1.2"), .disconnected,
        ]
        #expect(seen.all == zip(statuses, statuses.dropFirst()).map { [$0, $1] })
    }
}
