import FanfareAPI
import FanfareClient
import FanfareEncryption
import Synchronization
import TestBroker
import Testing

/// Answers the requests of an outbox as a script says, and records the events that it accepted.
private final class ScriptedSender: Sendable {
    private struct State {
        var failures: [FanfareAPIError]
        var accepted: [String] = []
        var attempts = 0
    }

    private let state: Mutex<State>

    /// - Parameter failures: The answers to the first attempts; all others are accepted.
    init(failures: [FanfareAPIError] = []) { state = Mutex(State(failures: failures)) }

    var accepted: [String] { state.withLock { $0.accepted } }
    var attempts: Int { state.withLock { $0.attempts } }

    func send(_ event: OutboxEvent) throws(FanfareAPIError) {
        try state.withLock { state throws(FanfareAPIError) in
            state.attempts += 1
            if !state.failures.isEmpty { throw state.failures.removeFirst() }
            state.accepted.append(event.data)
        }
    }

    /// An outbox that sends to this, with short delays.
    func outbox(
        _ store: any OutboxStore = MemoryOutbox(),
        report: @escaping @Sendable (BrokerOutbox.Report) -> Void = { _ in }
    ) -> BrokerOutbox {
        BrokerOutbox(
            store: store,
            send: { event throws(FanfareAPIError) in try self.send(event) },
            sleep: { _ in try await Task.sleep(for: .milliseconds(1)) },
            report: report
        )
    }
}

@Suite("An outbox of triggers", .timeLimit(.minutes(1))) struct BrokerOutboxTests {
    @Test(
        "A failure that may end delays all events, in their order",
        arguments: [
            .unreachable("down"), .timedOut(after: .seconds(1), mayHaveArrived: true),
            .connectionLost("cut"), .refused(status: 401, message: "key"),
            .refused(status: 403, message: "disabled"), .refused(status: 404, message: "app"),
            .refused(status: 408, message: "late"), .refused(status: 429, message: "slowly"),
            .refused(status: 503, message: "later"), .unexpectedAnswer("?"),
        ] as [FanfareAPIError]
    )
    func repeats(error: FanfareAPIError) async throws {
        let sender = ScriptedSender(failures: [error, error])
        let delays = Mutex<[FanfareAPIError]>([])
        let outbox = sender.outbox { report in
            if case .delayed(_, let error, _) = report { delays.withLock { $0.append(error) } }
        }
        var triggers: [PendingTrigger] = []
        for number in 1...5 {
            triggers.append(try await outbox.trigger("n", on: "rows", text: "\(number)"))
        }
        for trigger in triggers { try await trigger.delivery() }
        #expect(sender.accepted == ["1", "2", "3", "4", "5"])
        #expect(delays.withLock { $0 } == [error, error])
        await outbox.close()
    }

    @Test(
        "An event that is refused for what it is does not stop the others",
        arguments: [
            .refused(status: 400, message: "name"), .refused(status: 413, message: "long"),
            .refused(status: 422, message: "key"), .invalidArgument("channel"),
        ] as [FanfareAPIError]
    )
    func drops(error: FanfareAPIError) async throws {
        let sender = ScriptedSender(failures: [error])
        let refused = Mutex<[String]>([])
        let store = MemoryOutbox()
        let outbox = sender.outbox(store) { report in
            if case .refused(let event, _) = report { refused.withLock { $0.append(event.data) } }
        }
        let first = try await outbox.trigger("n", on: "rows", text: "1")
        let second = try await outbox.trigger("n", on: "rows", text: "2")
        await #expect(throws: error) { try await first.delivery() }
        try await second.delivery()
        // The outcome can be read again.
        await #expect(throws: error) { try await first.delivery() }
        #expect(sender.accepted == ["2"])
        #expect(refused.withLock { $0 } == ["1"])
        #expect(store.first(9).isEmpty)
        await outbox.close()
    }

    @Test("Events that were stored before are sent first")
    func sendsStoredEvents() async throws {
        let sender = ScriptedSender()
        let store = MemoryOutbox()
        for number in 1...100 {
            try store.append(
                OutboxEvent(key: "\(number)", name: "n", channel: "rows", data: "\(number)")
            )
        }
        let outbox = sender.outbox(store)
        try await outbox.trigger("n", on: "rows", text: "101").delivery()
        #expect(sender.accepted == (1...101).map(String.init))
        await outbox.close()
    }

    @Test("A store that fails is tried again, and no event is skipped")
    func storeFails() async throws {
        struct Busy: Error {}
        final class Store: OutboxStore {
            let events = MemoryOutbox()
            let calls = Atomic(0)

            private func fail() throws {
                if calls.add(1, ordering: .relaxed).newValue % 3 != 0 { throw Busy() }
            }
            func first(_ countMax: Int) throws -> [OutboxEvent] {
                try fail()
                return events.first(countMax)
            }
            func append(_ event: OutboxEvent) throws { try events.append(event) }
            func remove(_ key: String) throws {
                try fail()
                events.remove(key)
            }
        }
        let sender = ScriptedSender()
        let failures = Atomic(0)
        let outbox = sender.outbox(Store()) { report in
            if case .storeFailed = report { failures.add(1, ordering: .relaxed) }
        }
        var last: PendingTrigger?
        for number in 1...5 { last = try await outbox.trigger("n", on: "rows", text: "\(number)") }
        try await last?.delivery()
        #expect(sender.accepted == ["1", "2", "3", "4", "5"])
        #expect(failures.load(ordering: .relaxed) > 5)
        await outbox.close()
    }

    @Test("A full store refuses an event, which is not sent")
    func isFull() async throws {
        let sender = ScriptedSender(
            failures: Array(repeating: .unreachable("down"), count: 1_000_000)
        )
        let outbox = sender.outbox(MemoryOutbox(countMax: 1))
        let first = try await outbox.trigger("n", on: "rows", text: "1")
        await #expect(throws: OutboxFull(countMax: 1)) {
            try await outbox.trigger("n", on: "rows", text: "2")
        }
        let waiting = Task { try await first.delivery() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        await outbox.close(within: .zero)
    }

    @Test("Closing sends what is stored; what cannot be sent stays in the store")
    func closes() async throws {
        let store = MemoryOutbox()
        let sender = ScriptedSender()
        let outbox = sender.outbox(store)
        for number in 1...50 { try await outbox.trigger("n", on: "rows", text: "\(number)") }
        await outbox.close(within: .seconds(30))
        #expect(sender.accepted.count == 50)
        #expect(store.first(9).isEmpty)

        let broken = ScriptedSender(
            failures: Array(repeating: .unreachable("down"), count: 1_000_000)
        )
        let second = broken.outbox(store)
        try await second.trigger("n", on: "rows", text: "51")
        await second.close(within: .milliseconds(20))
        #expect(store.first(9).map(\.data) == ["51"])
    }

    @Test("Released with its last reference, an outbox ends its work")
    func isReleased() async throws {
        let sender = ScriptedSender(
            failures: Array(repeating: .unreachable("down"), count: 1_000_000)
        )
        weak var store: MemoryOutbox?
        do {
            let strong = MemoryOutbox()
            store = strong
            try await sender.outbox(strong).trigger("n", on: "rows", text: "1")
        }
        let deadline = ContinuousClock.now + .seconds(30)
        while store != nil, ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(2))
        }
        #expect(store == nil)
    }
}

@Suite("An outbox of triggers with a broker", .timeLimit(.minutes(1)))
struct BrokerOutboxDeliveryTests {
    /// A store as after a crash between sending and removing: every event stays, and is sent a second time.
    private final class ForgetfulStore: OutboxStore {
        let events = MemoryOutbox()
        let removals = Mutex<[String: Int]>([:])

        func first(_ countMax: Int) -> [OutboxEvent] { events.first(countMax) }
        func append(_ event: OutboxEvent) throws { try events.append(event) }
        func remove(_ key: String) {
            let count = removals.withLock { removals in
                removals[key, default: 0] += 1
                return removals[key]
            }
            if count == 2 { events.remove(key) }
        }
    }

    @Test(
        "An event that is sent twice is published once, in order",
        arguments: ["rows", "private-encrypted-rows"]
    )
    func publishesOnce(channel: String) async throws {
        let broker = try await TestBroker.start()
        var settings = BrokerAPI.Settings()
        settings.sealer = MasterKey.random()
        let api = try BrokerAPI(
            appID: "1",
            key: "app-key",
            secret: "app-secret",
            url: "http://127.0.0.1:\(broker.port)",
            settings: settings
        )
        var options = ClientOptions()
        options.decrypter = SecretBoxDecrypter()
        options.authorization.channels = ChannelAuthorizer { request, channel in
            let grant = try api.authorize(channel, for: request.socketID)
            return ChannelAuthorization(auth: grant.auth, sharedSecret: grant.sharedSecret)
        }
        let client = Fanfare(
            key: "app-key",
            endpoint: .plain(host: "127.0.0.1", port: UInt16(broker.port)),
            options: options
        )
        let deliveries = client.channel(channel).subscription().deliveries(of: EventName<Int>("n"))
        client.connect()
        try await client.channel(channel).waitUntilSubscribed()

        let store = ForgetfulStore()
        let outbox = BrokerOutbox(api, store: store)
        for number in 1...20 { try await outbox.trigger("n", on: channel, data: number) }
        await outbox.close(within: .seconds(30))
        #expect(store.removals.withLock { $0.values.allSatisfy { $0 == 2 } })
        try await api.trigger("n", on: channel, data: 21)
        var received: [Int] = []
        for try await delivery in deliveries {
            guard case .event(let number, _) = delivery else { continue }
            received.append(number)
            if number == 21 { break }
        }
        #expect(received == Array(1...21))
        client.disconnect()
        await broker.stop()
    }
}
