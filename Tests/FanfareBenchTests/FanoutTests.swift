import BrokerConfiguration
import FanfareServer
import Foundation
import Net
import PusherProtocol
import Testing

@testable import FanfareBench

@Suite("A fan-out against a server with a fault", .timeLimit(.minutes(1)))
struct FanoutTests {
    private func report(
        _ fault: BrokerFault,
        _ scenario: (any Scenario)? = nil,
        scheme: String = "ws",
        trust: TLSTrust = .system
    ) async throws -> BenchReport {
        let scenario = try scenario ?? FanoutCommand.small()
        return try await TargetServer.report(on: scenario, fault, scheme: scheme, trust: trust)
    }

    @Test(arguments: [Pace.window(1), .window(8), .rate(500)])
    func findsNothingWrong(pace: Pace) async throws {
        let report = try await report(.none, FanoutCommand.small(pace: pace))
        #expect(report.fault == nil)
        #expect(report["deliveries"] == .integer(100))
        #expect(try report.latency("latency_us").max > 0)
        #expect(try report.number("deliveries_per_s") > 0)
        // The broker runs in this process.
        #expect(try report.number("server_cpu_us_per_delivery") > 0)
    }

    @Test func privateChannelsAreSigned() async throws {
        #expect(try await report(.none, FanoutCommand.small("private-news")).fault == nil)
    }

    @Test func pingsAreAnsweredAndNotCounted() async throws {
        #expect(try await report(.pings).fault == nil)
    }

    @Test func countsWhatIsLost() async throws {
        let report = try await report(.loses(7), FanoutCommand.small(pace: .window(8)))
        #expect(report["lost"] == .integer(1))
        #expect(report.fault == "1 lost: no delivery for 3.0 s")
    }

    @Test func countsTheLastEventAsLost() async throws {
        #expect(try await report(.loses(19))["lost"] == .integer(1))
    }

    @Test(arguments: [0, 19]) func countsDuplicates(sequence: Int) async throws {
        let report = try await report(.duplicates(sequence))
        #expect(report["duplicated"] == .integer(1))
        #expect(report.fault == "1 duplicated")
    }

    @Test func countsWhatIsOutOfOrder() async throws {
        let report = try await report(.swaps(3), FanoutCommand.small(pace: .window(8)))
        #expect(report["lost"] == .integer(0))
        #expect(report["out_of_order"] == .integer(1))
        #expect(report.fault == "1 out of order")
    }

    @Test func manyChannels() async throws {
        let report = try await report(.none, ChannelsCommand.small())
        #expect(report.fault == nil)
        #expect(report["deliveries"] == .integer(60))
    }

    @Test func anEventOfAnotherChannelIsAFault() async throws {
        #expect(try await report(.misdirects(2), ChannelsCommand.small()).fault == "1 out of order")
    }

    @Test func readsWhatIsCompressed() async throws {
        let scenario = try FanoutCommand.small(pace: .window(8), ["--size", "4096"])
        let report = try await TargetServer.report(on: scenario, .compresses, deflate: true)
        #expect(report.fault == nil)
        #expect(report["deflate_granted"] == .integer(5))
        #expect(try report.number("bytes_per_delivery") < 4_096)
    }

    @Test func compressionMayBeDeclined() async throws {
        let report = try await TargetServer.report(on: FanoutCommand.small(), .none, deflate: true)
        #expect(report.fault == nil)
        #expect(report["deflate_granted"] == .integer(0))
    }

    struct Case: CustomTestStringConvertible {
        var fault: BrokerFault
        var text: String
        var testDescription: String { text }
    }

    @Test(arguments: [
        Case(
            fault: .refusesEvents,
            text:
                #"refused an event with status 401: no\u{1b}!. Check --key, --secret and --app-id"#
        ),
        Case(
            fault: .refusesSubscriptions,
            text: #"was refused: AuthError: no\u{1b}[2J (401). Check --key and --secret."#
        ),
        Case(fault: .answersNoSubscriptions, text: "0 of 5 connections are subscribed"),
        Case(fault: .refusesUpgrades, text: "status 403 instead of 101. Check --key"),
        Case(fault: .closesFirst(2), text: "4100 full. Raise the server's limits"),
    ])
    func reports(_ given: Case) async throws {
        await #expect {
            try await report(given.fault)
        } throws: { error in
            "\(error)".contains(given.text)
        }
    }

    /// The server closes the first subscriber, which may be any of the five.
    @Test func namesTheConnectionThatWasLost() async throws {
        await #expect {
            try await report(.closesFirst(2))
        } throws: { error in
            "\(error)".contains(/Connection [1-5] was lost: closed by the server/)
        }
    }

    @Test func unansweredEventsEndTheRun() async throws {
        #expect(try await report(.answersNoEvents).fault?.hasPrefix("5 lost: no delivery") == true)
    }

    @Test(arguments: [Pace.window(1), .window(8)])
    func connectsAgainWhenTheServerEndsTheConnection(pace: Pace) async throws {
        #expect(try await report(.closesAfterAnswers, FanoutCommand.small(pace: pace)).fault == nil)
    }

    @Test func anUnreachableServerIsReported() async throws {
        let broker = try FaultyBroker.start(.none)
        await broker.stop()
        await broker.loop.waitUntilStopped()
        let target = try TargetServer(url: "ws://127.0.0.1:\(broker.port)")
        await #expect {
            try await target.result(of: FanoutCommand.small()).get()
        } throws: { error in
            "\(error)".contains("Is the server running there?")
        }
    }

    @Test func ourBrokerDeliversEverything() async throws {
        let options = ["--subscribers", "200", "--messages", "50"]
        let scenario = try FanoutCommand.small(pace: .window(8), options)
        let report = try await BrokerServer.report(on: scenario) {
            $0.stallTimeout = .seconds(10)
            $0.offersDeflate = true
        }
        #expect(report.fault == nil)
        #expect(report["deliveries"] == .integer(10_000))
        #expect(report["deflate_granted"] == .integer(200))
    }

    @Test func speaksTLS() async throws {
        #expect(try await report(.none, scheme: "wss", trust: .insecure).fault == nil)
    }

    @Test func checksTheCertificate() async throws {
        await #expect {
            try await report(.none, scheme: "wss")
        } throws: { error in
            "\(error)".contains("--insecure accepts any")
        }
    }
}
