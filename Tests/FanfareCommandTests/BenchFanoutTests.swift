import FanfareServer
import Net
import PusherProtocol
import Testing

@testable import fanfare

@Suite("A fan-out against a server with a fault", .timeLimit(.minutes(1)))
struct BenchFanoutTests {
    private func report(
        _ fault: BrokerFault,
        scheme: String = "ws",
        isInsecure: Bool = false,
        channel: String = "news",
        pace: Pace = .window(1)
    ) async throws -> FanoutReport {
        let broker = try FaultyBroker.start(fault, isSecure: scheme == "wss")
        let plan = try FanoutPlan(
            url: "\(scheme)://127.0.0.1:\(broker.port)",
            channel: channel,
            pace: pace,
            isInsecure: isInsecure
        )
        let result = Result { try FanoutLoop.report(on: plan) }
        await broker.stop()
        return try result.get()
    }

    @Test(arguments: [Pace.window(1), .window(8), .rate(500)])
    func findsNothingWrong(pace: Pace) async throws {
        let report = try await report(.none, pace: pace)
        #expect(report.fault == nil)
        #expect(report.tally.deliveries == 100)
        #expect(report.latency.max > 0)
        #expect(report.deliveriesPerSecond > 0)
        // The broker of this test is a thread of the same process.
        #expect(report.serverTime ?? 0 > 0)
    }

    @Test func privateChannelsAreSigned() async throws {
        #expect(try await report(.none, channel: "private-news").fault == nil)
    }

    @Test func pingsAreAnsweredAndNotCounted() async throws {
        #expect(try await report(.pings).fault == nil)
    }

    @Test func countsWhatIsLost() async throws {
        let report = try await report(.loses(7), pace: .window(8))
        #expect(report.tally.missing == 1)
        #expect(report.fault == "1 lost: nothing arrived any more for 0.5 s")
    }

    @Test func countsTheLastEventAsLost() async throws {
        #expect(try await report(.loses(19)).tally.missing == 1)
    }

    @Test(arguments: [0, 19]) func countsDuplicates(sequence: Int) async throws {
        let report = try await report(.duplicates(sequence))
        #expect(report.tally.duplicated == 1)
        #expect(report.fault == "1 duplicated")
    }

    @Test func countsWhatIsOutOfOrder() async throws {
        let report = try await report(.swaps(3), pace: .window(8))
        #expect(report.tally.missing == 0)
        #expect(report.tally.outOfOrder == 1)
        #expect(report.fault == "1 out of order")
    }

    struct Case: CustomTestStringConvertible {
        var fault: BrokerFault
        var text: String
        var testDescription: String { text }
    }

    @Test(arguments: [
        Case(fault: .refusesEvents, text: #"refused an event with status 401: no\u{1b}!"#),
        Case(fault: .refusesSubscriptions, text: #"not let in: AuthError: no\u{1b}[2J (401)"#),
        Case(fault: .answersNoSubscriptions, text: "0 of 5 are subscribed"),
        Case(
            fault: .closesFirst(2),
            text: "Subscriber 1 lost its connection: closed by the server"
        ),
        Case(fault: .closesFirst(2), text: "4100 full"),
    ])
    func says(_ given: Case) async throws {
        await #expect {
            try await report(given.fault)
        } throws: { error in
            "\(error)".contains(given.text)
        }
    }

    @Test func losesPatienceWithUnansweredEvents() async throws {
        let report = try await report(.answersNoEvents)
        #expect(report.isTimedOut)
        #expect(report.fault?.contains("5 lost") == true)
    }

    @Test(arguments: [Pace.window(1), .window(8)])
    func connectsAgainWhenTheServerEndsTheConnection(pace: Pace) async throws {
        #expect(try await report(.closesAfterAnswers, pace: pace).fault == nil)
    }

    @Test func saysThatNobodyIsThere() async throws {
        let broker = try FaultyBroker.start(.none)
        await broker.stop()
        await broker.loop.waitUntilStopped()
        let plan = try FanoutPlan(url: "ws://127.0.0.1:\(broker.port)")
        #expect {
            try FanoutLoop.report(on: plan)
        } throws: { error in
            "\(error)".contains("Is the server running there?")
        }
    }

    @Test func ourBrokerDeliversEverything() async throws {
        var configuration = Configuration.development
        configuration.port = 0
        configuration.loops = 2
        let server = try BrokerServer(configuration: configuration)
        let port = try #require(try await server.start().plain?.port)
        var plan = try FanoutPlan(url: "ws://127.0.0.1:\(port)", pace: .window(8))
        plan.subscriberCount = 200
        plan.messageCount = 50
        plan.patience = .seconds(10)
        let result = Result { [plan] in try FanoutLoop.report(on: plan) }
        await server.stop(within: .seconds(1))
        let report = try result.get()
        #expect(report.fault == nil)
        #expect(report.tally.deliveries == 10_000)
    }

    @Test func speaksTLS() async throws {
        #expect(try await report(.none, scheme: "wss", isInsecure: true).fault == nil)
    }

    @Test func checksTheCertificate() async throws {
        await #expect {
            try await report(.none, scheme: "wss")
        } throws: { error in
            "\(error)".contains("--insecure accepts any certificate")
        }
    }
}

extension FanoutPlan {
    /// A small run with little patience.
    init(
        url: String,
        channel: String = "news",
        pace: Pace = .window(1),
        isInsecure: Bool = false
    ) throws {
        self.init(
            target: try #require(BenchTarget(url: url)),
            key: "app-key",
            secret: AppSecret("app-secret"),
            appID: "1",
            channel: try ChannelName(channel),
            subscriberCount: 5,
            messageCount: 20,
            dataLength: 64,
            pace: pace,
            serverID: nil,
            isInsecure: isInsecure,
            patience: .milliseconds(500)
        )
    }
}
