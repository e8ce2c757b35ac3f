import FanfareTesting
import Testing

@testable import FanfareClient

@Suite("Injected faults", .timeLimit(.minutes(1))) @MainActor
struct FaultInjectionTests {
    private let clients = ClientsOfTest()

    private func subscriber(
        _ broker: ScriptedBroker
    ) async throws -> (client: Fanfare, received: ReceivedEvents) {
        let client = clients.add(to: broker)
        let received = ReceivedEvents()
        client.channel("a").bind("e") { received.add($0) }
        client.subscribe("a")
        client.connect()
        try await broker.waitForSubscribers(to: "a")
        return (client, received)
    }

    /// A broker whose clients do not notice a lost message, because none has a number.
    private func brokerWithoutHistory() -> ScriptedBroker {
        var settings = ScriptedBroker.Settings()
        settings.keepsHistory = false
        return ScriptedBroker(settings)
    }

    private func trigger(_ count: Int, _ broker: ScriptedBroker) async throws {
        for number in 1...count { try broker.trigger("e", on: "a", data: number) }
        try await broker.settle()
    }

    @Test func losesAMessage() async throws {
        let broker = brokerWithoutHistory()
        let (_, received) = try await subscriber(broker)
        broker.inject(.drop) { $0.event == "e" && $0.text.contains("2") }
        try await trigger(3, broker)
        #expect(received.all.map(\.data) == ["1", "3"])
    }

    @Test func clientsNoticeLostAndRepeatedMessages() async throws {
        let broker = ScriptedBroker()
        let (_, received) = try await subscriber(broker)
        broker.inject(.drop) { $0.event == "e" && $0.text.contains("2") }
        broker.inject(.duplicate, times: 3) { $0.event == "e" }
        try await trigger(3, broker)
        #expect(received.all.map(\.data) == ["1", "2", "3"])
    }

    @Test func duplicatesAMessage() async throws {
        let broker = brokerWithoutHistory()
        let (_, received) = try await subscriber(broker)
        broker.inject(.duplicate, times: 2) { $0.channel == "a" }
        try await trigger(3, broker)
        #expect(received.all.map(\.data) == ["1", "1", "2", "2", "3"])
    }

    @Test func delaysAMessageAndThoseBehindIt() async throws {
        let broker = ScriptedBroker()
        let (_, received) = try await subscriber(broker)
        broker.inject(.delay(.seconds(3)))
        try await trigger(2, broker)
        #expect(received.all.isEmpty)
        try await broker.advance(by: .milliseconds(2_999))
        #expect(received.all.isEmpty)
        try await broker.advance(by: .milliseconds(1))
        #expect(received.all.map(\.data) == ["1", "2"])
    }

    @Test func removesPendingFaults() async throws {
        let broker = brokerWithoutHistory()
        let (_, received) = try await subscriber(broker)
        broker.inject(.drop, times: 10)
        try await trigger(1, broker)
        broker.removeFaults()
        try await trigger(1, broker)
        #expect(received.all.count == 1)
    }

    @Test func losesAMessageOfAClient() async throws {
        let broker = ScriptedBroker()
        let client = clients.add(to: broker)
        broker.inject(.drop, .toBroker) { $0.event == "pusher:subscribe" && $0.channel == "a" }
        client.subscribe("a")
        client.subscribe("b")
        client.connect()
        try await broker.waitForSubscribers(to: "b")
        #expect(broker.subscribers(of: "a").isEmpty)
        #expect(!client.channel("a").isSubscribed)
    }

    @Test(arguments: [false, true]) func cutsAConnectionThatComesBack(byMessage: Bool) async throws
    {
        let broker = ScriptedBroker()
        let (client, received) = try await subscriber(broker)
        if byMessage {
            broker.inject(.cut) { $0.event == "e" }
            try await trigger(1, broker)
        } else {
            broker.cut()
            try await broker.settle()
        }
        #expect(broker.connections.isEmpty)
        guard case .waiting = client.status else {
            Issue.record("\(client.status)")
            return
        }
        try await broker.advance(by: .seconds(31))
        try await broker.waitForSubscribers(to: "a")
        #expect(broker.subscribers(of: "a") == ["2.1"])
        try await trigger(1, broker)
        // The message in whose place the connection was cut is replayed.
        #expect(received.all.map(\.data) == (byMessage ? ["1", "1"] : ["1"]))
    }

    @Test func restartsWithAndWithoutItsHistory() async throws {
        let broker = ScriptedBroker()
        let (client, received) = try await subscriber(broker)
        var told: [Continuity] = []
        client.channel("a").onContinuity { told.append($0) }
        for (number, keepsHistory) in [(1, true), (2, false), (3, true)] {
            broker.restart(keepingHistory: keepsHistory)
            try await broker.advance(by: .seconds(31))
            let continuity = told.last
            let isResumed = continuity == .resumed(replayed: 0)
            #expect(isResumed == keepsHistory, "\(String(describing: continuity))")
            try await trigger(1, broker)
            #expect(received.all.count == number)
        }
        broker.inject(.cut) { $0.event == "e" }
        try await trigger(2, broker)
        broker.forgetHistory()
        try await broker.advance(by: .seconds(31))
        guard case .gap(let gap) = told.last else {
            Issue.record("the loss should be told")
            return
        }
        #expect(gap.reason == .truncated && gap.missed == 2)
    }

    @Test func closesWithACodeThatTheClientObeys() async throws {
        let broker = ScriptedBroker()
        let (client, _) = try await subscriber(broker)
        try broker.close(code: 4200)
        try await broker.waitForSubscribers(to: "a")
        #expect(broker.subscribers(of: "a") == ["2.1"])
        try broker.close("2.1", code: 4001, message: "no")
        try await broker.settle()
        #expect(client.status == .failed(because: .refused(code: 4001, message: "no")))
        #expect(throws: FanfareTestingError.noConnection(socketID: "2.1")) {
            try broker.close("2.1", code: 4001)
        }
    }

    @Test func refusesClients() async throws {
        let broker = ScriptedBroker()
        broker.reception = .refuse(code: 4004, message: "full")
        let client = clients.add(to: broker)
        client.connect()
        try await broker.settle()
        #expect(client.status == .failed(because: .refused(code: 4004, message: "full")))
        for reception in [
            ScriptedBroker.Reception.unreachable(reason: "no"), .refuseUpgrade(reason: "no"),
        ] {
            broker.reception = reception
            client.connect()
            try await broker.settle()
            guard case .waiting = client.status else {
                Issue.record("\(client.status)")
                return
            }
            client.disconnect()
        }
        broker.reception = .silence
        client.connect()
        try await broker.advance(by: .seconds(15))
        await client.status {
            if case .waiting(_, let error) = $0 { error.code == .connectTimedOut } else { false }
        }
        broker.reception = .accept
        try await broker.advance(by: .seconds(31))
        try await broker.waitForConnections()
    }

    @Test func refusesAnotherKey() async throws {
        let broker = ScriptedBroker()
        let client = Fanfare(
            key: "other",
            endpoint: broker.endpoint,
            options: broker.clientOptions()
        )
        client.connect()
        try await broker.settle()
        guard case .failed(let error) = client.status else {
            Issue.record("\(client.status)")
            return
        }
        #expect(error.code == .refused && error.status == 4001)
    }

    @Test func refusesSubscriptionsUntilItAcceptsThem() async throws {
        let broker = ScriptedBroker()
        broker.refuseSubscriptions(to: "a", message: "no")
        let client = clients.add(to: broker)
        client.subscribe("a")
        var errors: [FanfareError] = []
        client.onError { errors.append($0) }
        client.connect()
        try await broker.wait(for: "the request") {
            broker.actions.last?.kind == .subscribe(channel: "a")
        }
        try await broker.settle()
        #expect(
            errors == [
                .subscriptionRefused(channel: "a", kind: "AuthError", message: "no", status: 401)
            ]
        )
        broker.acceptSubscriptions(to: "a")
        client.subscribe("a")
        try await broker.waitForSubscribers(to: "a")
    }

    @Test func staysSilentUntilTheClientTimesOut() async throws {
        let broker = ScriptedBroker()
        let (client, received) = try await subscriber(broker)
        broker.isSilent = true
        try await trigger(1, broker)
        #expect(received.all.isEmpty && client.status.isConnected)
        try await broker.advance(by: .seconds(120))
        try await broker.clock.waitForSleep(of: .seconds(30))
        try await broker.advance(by: .seconds(30))
        await client.status { !$0.isConnected }
        // The broker has not noticed yet.
        #expect(broker.connections.count == 1)
        broker.isSilent = false
        #expect(broker.connections.isEmpty)
        try await broker.advance(by: .seconds(31))
        try await broker.waitForSubscribers(to: "a")
    }

    @Test func sendsRawTexts() async throws {
        let broker = ScriptedBroker()
        let (client, _) = try await subscriber(broker)
        var errors: [FanfareError] = []
        client.onError { errors.append($0) }
        try broker.send("{", to: "1.1")
        try await broker.settle()
        #expect(errors.count == 1 && client.status.isConnected)
    }

    @Test func limitsTheQueueOfASlowClient() async throws {
        var settings = ScriptedBroker.Settings()
        settings.messagesWaitingMax = 3
        let broker = ScriptedBroker(settings)
        let client = clients.addRaw(to: broker)
        await client.subscribe("a")
        client.pauseReading()
        try await trigger(3, broker)
        #expect(broker.connections.count == 1)
        #expect(!client.received.contains { $0.contains(#""e""#) })
        client.resumeReading()
        try await broker.settle()
        #expect(client.received.count { $0.contains(#""e""#) } == 3)
        client.pauseReading()
        try await trigger(4, broker)
        #expect(broker.connections.isEmpty)
        client.resumeReading()
        try await broker.settle()
        guard case .closeFrame(code: 4100, _) = client.closure else {
            Issue.record("\(String(describing: client.closure))")
            return
        }
    }
}
