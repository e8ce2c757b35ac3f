import FanfareTesting
import Synchronization
import Testing

@testable import FanfareClient

/// An app's backend, whose answers a test gives.
private final class StateBackend: Sendable {
    private struct State {
        var count = 0
        var waiting: [CheckedContinuation<Content, any Error>] = []
    }

    /// A state, and the position that it is known to contain.
    struct Content: Sendable, Equatable {
        var text: String
        var position: ChannelPosition?
    }

    struct Down: Error {}

    private let state = Mutex(State())

    /// The number of requests.
    var count: Int { state.withLock { $0.count } }

    @Sendable func load() async throws -> Content {
        try await withCheckedThrowingContinuation { continuation in
            state.withLock {
                $0.count += 1
                $0.waiting.append(continuation)
            }
        }
    }

    private func answer(_ outcome: Result<Content, any Error>) async {
        await eventually("a request") { state.withLock { !$0.waiting.isEmpty } }
        state.withLock { $0.waiting.removeFirst() }.resume(with: outcome)
    }

    func answer(_ text: String, at position: ChannelPosition? = nil) async {
        await answer(.success(Content(text: text, position: position)))
    }

    func fail() async { await answer(.failure(Down())) }

    /// Waits for a number of requests in all.
    func waitForRequests(_ count: Int) async {
        await eventually("\(count) requests") { self.count == count }
    }
}

@Suite("A state and the events behind it", .timeLimit(.minutes(1))) struct StateDeliveryTests {
    private typealias Sequence = Updates<
        StateDelivery<StateBackend.Content, ChannelEvent>, FanfareError
    >

    private let broker: ScriptedBroker
    private let client: Fanfare
    private let backend = StateBackend()
    private let seen = Seen<String>()

    init() {
        broker = ScriptedBroker()
        client = broker.client()
    }

    private var channel: Channel { client.channel("room") }

    /// Reads a sequence to its end.
    private func read(
        _ subscription: ChannelSubscription,
        _ name: String? = "e"
    ) -> Task<Void, any Error> {
        let deliveries = subscription.deliveries(name, behind: backend.load, at: \.position)
        return Task { [seen] in
            for try await delivery in deliveries {
                switch delivery {
                case .state(let state): seen.add("state \(state.text)")
                case .event(let event, _): seen.add(event.data ?? "")
                case .undecodable(let event, _): seen.add("undecodable \(event.data ?? "")")
                }
            }
        }
    }

    private func trigger(_ numbers: ClosedRange<Int>) throws {
        for number in numbers { try broker.trigger("e", on: ["room"], text: "\(number)") }
    }

    /// Keeps the client away while something happens.
    private func away(_ happen: () throws -> Void) async throws {
        client.suspend()
        try await broker.waitForConnections(0)
        try happen()
        client.connect()
        try await broker.waitForSubscribers(to: "room")
    }

    @Test("The state is loaded once subscribed; events that arrive meanwhile and later follow it")
    func joins() async throws {
        let reading = read(channel.subscription())
        #expect(backend.count == 0)
        client.connect()
        await backend.waitForRequests(1)
        try trigger(1...2)
        try await broker.settle()
        #expect(seen.all == [])
        await backend.answer("A")
        await seen.wait(for: 3)
        try trigger(3...3)
        await seen.wait(for: 4)
        #expect(seen.all == ["state A", "1", "2", "3"])
        client.disconnect()
        reading.cancel()
    }

    @Test("A channel that is subscribed already has its state loaded at once") func late()
        async throws
    {
        let lease = channel.subscription()
        client.connect()
        try await channel.waitUntilSubscribed()
        try trigger(1...1)
        try await broker.settle()
        let reading = read(lease)
        await backend.answer("A")
        try trigger(2...2)
        await seen.wait(for: 2)
        #expect(seen.all == ["state A", "2"])
        client.disconnect()
        reading.cancel()
    }

    @Test(
        "What a cut has missed follows, without a request; behind a gap the state is loaded again"
    )
    func cuts() async throws {
        let reading = read(channel.subscription())
        client.connect()
        await backend.answer("A")
        await seen.wait(for: 1)
        try await away { try trigger(1...2) }
        await seen.wait(for: 3)
        #expect(backend.count == 1)
        try await away {
            try trigger(3...4)
            broker.forgetHistory()
        }
        await backend.answer("B")
        try trigger(5...5)
        await seen.wait(for: 5)
        try await away { broker.restart(keepingHistory: false) }
        await backend.answer("C")
        await seen.wait(for: 6)
        #expect(seen.all == ["state A", "1", "2", "state B", "5", "state C"])
        #expect(backend.count == 3)
        client.disconnect()
        reading.cancel()
    }

    @Test("A state from before a gap is dropped, with the events before the gap")
    func obsoleteStates() async throws {
        let told = Seen<Continuity>()
        channel.onContinuity { told.add($0) }
        let reading = read(channel.subscription())
        client.connect()
        await backend.waitForRequests(1)
        try trigger(1...1)
        try await away {
            try trigger(2...3)
            broker.forgetHistory()
        }
        await told.wait(for: 2)
        try trigger(4...4)
        try await broker.settle()
        await backend.answer("old")
        await backend.waitForRequests(2)
        await backend.answer("new")
        await seen.wait(for: 2)
        #expect(seen.all == ["state new", "4"])
        client.disconnect()
        reading.cancel()
    }

    @Test("A state that fails to load is reported, and loaded again after a delay")
    func failures() async throws {
        let errors = Seen<FanfareError>()
        client.onError { errors.add($0) }
        let reading = read(channel.subscription())
        client.connect()
        for round in 1...3 {
            await backend.fail()
            await errors.wait(for: round)
            while backend.count == round { try await broker.advance(by: .seconds(1)) }
        }
        await backend.answer("A")
        try trigger(1...1)
        await seen.wait(for: 2)
        #expect(seen.all == ["state A", "1"])
        #expect(errors.all.map(\.code) == [.stateNotLoaded, .stateNotLoaded, .stateNotLoaded])
        client.disconnect()
        reading.cancel()
    }

    @Test(
        "Events that the state contains are left out; a state from before the subscription is not taken"
    )
    func positions() async throws {
        let lease = channel.subscription()
        client.connect()
        try await channel.waitUntilSubscribed()
        try trigger(1...2)
        try await broker.settle()
        let start = try #require(channel.position)
        #expect(start.serial == 2)
        let reading = read(lease)
        await backend.waitForRequests(1)
        try trigger(3...5)
        try await broker.settle()
        let others = [
            ChannelPosition(stream: start.stream, serial: 1),
            ChannelPosition(stream: "another", serial: 9),
        ]
        for (number, position) in others.enumerated() {
            await backend.answer("old", at: position)
            while backend.count == number + 1 { try await broker.advance(by: .seconds(1)) }
        }
        await backend.answer("A", at: ChannelPosition(stream: start.stream, serial: 4))
        await seen.wait(for: 2)
        #expect(seen.all == ["state A", "5"])
        client.disconnect()
        reading.cancel()
    }

    @Test(
        "Once the lease has ended no state is loaded again, and none is delivered",
        arguments: [true, false]
    )
    func endsWhileLoading(fails: Bool) async throws {
        let lease = channel.subscription()
        let reading = read(lease)
        client.connect()
        await backend.waitForRequests(1)
        try trigger(1...1)
        try await broker.settle()
        lease.cancel()
        if fails { await backend.fail() } else { await backend.answer("late") }
        let ended = Seen<Bool>()
        Task {
            try await reading.value
            ended.add(true)
        }
        while backend.count == 1, ended.all.isEmpty { try await broker.advance(by: .seconds(1)) }
        #expect(backend.count == 1 && seen.all == [])
        client.disconnect()
        reading.cancel()
    }

    @Test("A reader that begins while the client is away takes no state from before the channel")
    func positionsOfOthers() async throws {
        let other = channel.subscription()
        client.connect()
        try await channel.waitUntilSubscribed()
        try trigger(1...2)
        try await broker.settle()
        let start = try #require(channel.position)
        client.suspend()
        try await broker.waitForConnections(0)
        let reading = read(channel.subscription())
        client.connect()
        await backend.answer("old", at: ChannelPosition(stream: start.stream, serial: 1))
        while backend.count == 1, seen.all.isEmpty { try await broker.advance(by: .seconds(1)) }
        try #require(backend.count == 2, "\(seen.all)")
        await backend.answer("A", at: start)
        try trigger(3...3)
        await seen.wait(for: 2)
        #expect(seen.all == ["state A", "3"])
        other.cancel()
        client.disconnect()
        reading.cancel()
    }

    @Test("After an overflow, no event of an earlier stream than the state is delivered")
    func streamsAfterAnOverflow() async throws {
        let buffer = EventBuffer<FollowedEvent>(
            policy: .reportsLoad(
                limit: 8,
                byteLimit: 1 << 20,
                overflow: .confirmed(.gap(Gap(.overflow)), at: nil, nil)
            ),
            drained: { _, _ in }
        )
        func send(_ data: String, _ stream: String, _ serial: UInt64) {
            let event = ChannelEvent(name: "e", channel: "room", data: data)
            buffer.send(.event(event, at: ChannelPosition(stream: stream, serial: serial)))
        }
        let lease = channel.subscription()
        let reader = StateReader(buffer, of: lease, backend.load, \.position) { $0.data ?? "" }
        let reading = Task { [seen] in
            while let delivery = try await reader.next(isolation: nil) {
                switch delivery {
                case .state(let state): seen.add("state \(state.text)")
                case .event(let data, _): seen.add(data)
                case .undecodable: break
                }
            }
        }
        buffer.send(.confirmed(.gap(Gap(.overflow)), at: nil, nil))
        send("old", "former", 10)
        let position = ChannelPosition(stream: "later", serial: 3)
        await backend.answer("A", at: position)
        await seen.wait(for: 1)
        await eventually("the next request or event") {
            backend.count == 2 || seen.all.count == 2
        }
        // The client learns of the later stream.
        buffer.send(.confirmed(.gap(Gap(.unknownStream)), at: position, nil))
        send("new", "later", 4)
        for text in ["B", "C"] { await backend.answer(text, at: position) }
        await seen.wait(for: 3)
        #expect(seen.all == ["state A", "state C", "new"])
        reading.cancel()
        lease.cancel()
    }

    @Test("A lease with a position begins with the events behind it, and without a state")
    func givenPositions() async throws {
        // It keeps the channel in use.
        let other = broker.client()
        other.subscribe("room")
        other.connect()
        try await other.channel("room").waitUntilSubscribed()
        try trigger(1...1)
        try await broker.settle()
        let position = try #require(other.channel("room").position)
        try trigger(2...3)
        let reading = read(channel.subscription(from: position))
        client.connect()
        await seen.wait(for: 2)
        #expect(seen.all == ["2", "3"] && backend.count == 0)
        broker.restart(keepingHistory: false)
        await backend.answer("A")
        await seen.wait(for: 3)
        #expect(seen.all == ["2", "3", "state A"])
        for client in [client, other] { client.disconnect() }
        reading.cancel()
    }

    @Test("Against a broker that keeps no events each subscription loads the state")
    func otherBrokers() async throws {
        var settings = ScriptedBroker.Settings()
        settings.keepsHistory = false
        let broker = ScriptedBroker(settings)
        let client = broker.client()
        let deliveries = client.channel("room").subscription()
            .deliveries(of: EventName<Int>("e"), behind: { "A" })
        var read = deliveries.makeAsyncIterator()
        for _ in 1...3 {
            client.connect()
            #expect(try await read.next() == .state("A"))
            try broker.trigger("e", on: "room", data: 7)
            #expect(try await read.next() == .event(7, at: nil))
            try broker.trigger("e", on: "room", data: "seven")
            guard case .undecodable(let event, _) = try await read.next() else {
                Issue.record("the data is not a number")
                return
            }
            #expect(event.data == #""seven""#)
            client.suspend()
        }
    }

    @Test("The sequence ends with the lease, throws a refusal, and ends when its task is cancelled")
    func ends() async throws {
        let lease = channel.subscription()
        let reading = read(lease)
        client.connect()
        await backend.answer("A")
        await seen.wait(for: 1)
        lease.cancel()
        try await reading.value

        broker.refuseSubscriptions(
            to: "private-room",
            type: "AuthError",
            message: "no",
            status: 403
        )
        let refused = client.channel("private-room").subscription()
            .deliveries(behind: backend.load)
        let error = await #expect(throws: FanfareError.self) {
            for try await _ in refused {}
        }
        #expect(error?.code == .subscriptionRefused)

        let waiting = read(channel.subscription())
        await backend.waitForRequests(2)
        waiting.cancel()
        await backend.answer("B")
        try await waiting.value
        #expect(seen.all == ["state A"])
        client.disconnect()
    }
}
