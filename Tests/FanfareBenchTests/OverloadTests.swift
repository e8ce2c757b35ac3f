import BrokerConfiguration
import FanfareServer
import Foundation
import Net
import PusherProtocol
import Testing

@testable import FanfareBench

@Suite("An overload", .timeLimit(.minutes(1))) struct OverloadTests {
    private func scenario(
        publishers: Int = 2,
        events: Int = 60,
        _ options: [String] = []
    ) throws -> OverloadCommand {
        var scenario = try OverloadCommand.with(
            [
                "--publishers", "\(publishers)", "--subscribers", "3", "--size", "64",
                "--events", "\(events)", "--window", "2", "--channel", "news",
            ] + options
        )
        if !options.contains("--seconds") { scenario.seconds = 0.2 }
        return scenario
    }

    // MARK: Faults

    private func results(
        window: Int = 1_000,
        overload: Int = 1_000,
        quiet: UInt64 = 1_000_000,
        loaded: UInt64 = 1_000_000
    ) -> OverloadResults {
        var results = OverloadResults()
        results.window = .init(deliveries: window, time: .seconds(1))
        results.overload = .init(deliveries: overload, time: .seconds(1))
        let latencies = [quiet, quiet, quiet, loaded].map {
            LatencyFigures(p50: $0, p90: $0, p99: $0, p999: $0, max: $0)
        }
        results.unrelated = .init(latencies: latencies, fault: nil, refusedCount: 0)
        return results
    }

    @Test func aTenthFewerDeliveriesAreAllowed() throws {
        #expect(results(overload: 901).faults(budget: nil, growth: nil) == [])
        #expect(
            results(overload: 880).faults(budget: nil, growth: nil)
                == ["deliveries per second are 0.88 times those with a window; 0.9 is the minimum"]
        )
        #expect(
            results(window: 0).faults(budget: nil, growth: nil)
                == [
                    "deliveries per second are unknown times those with a window; 0.9 is the minimum"
                ]
        )
    }

    @Test func threeTimesTheLatencyIsAllowed() throws {
        #expect(results(loaded: 3_000_000).faults(budget: nil, growth: nil) == [])
        #expect(
            results(loaded: 3_100_000).faults(budget: nil, growth: nil)
                == [
                    "the unrelated channel's p99 latency is 3.10 times that without load; 3.0 is allowed"
                ]
        )
        var lost = results()
        lost.unrelated?.fault = "1 repeated or out of order"
        lost.unrelated?.refusedCount = 2
        #expect(
            lost.faults(budget: nil, growth: nil) == [
                "the unrelated channel: 1 repeated or out of order",
                "2 events of the unrelated channel were answered 503",
                "the unrelated channel's p99 latency is unknown times that without load; 3.0 is allowed",
            ]
        )
    }

    @Test func memoryMayGrowByTheBudget() throws {
        #expect(results().faults(budget: nil, growth: 1 << 40) == [])
        #expect(results().faults(budget: 64 << 20, growth: 64 << 20) == [])
        #expect(
            results().faults(budget: 64 << 20, growth: 65 << 20)
                == ["the server's memory grew by 65.0 MiB; 64.0 MiB is allowed"]
        )
    }

    // MARK: Against a server

    /// The faults except those of times, which a short run beside other tests cannot measure.
    private func faults(_ report: BenchReport) -> [String] {
        (report.fault ?? "").split(separator: "; ").map(String.init).filter {
            !$0.contains("those with a window") && !$0.contains("p99")
                && !$0.hasSuffix("is the minimum") && !$0.hasSuffix("is allowed")
        }
    }

    @Test func findsNothingWrong() async throws {
        let report = try await TargetServer.report(on: scenario(), .none)
        #expect(faults(report) == [])
        #expect(report["lost"] == .integer(0))
        #expect(report["closed"] == .integer(0))
        #expect(report["deliveries"] == report["expected"])
        #expect(report["overload_accepted"] == .integer(60))
        for name in ["window_deliveries_per_s", "overload_deliveries_per_s"] {
            #expect(try report.number(name) > 0)
        }
    }

    struct Case: CustomTestStringConvertible {
        var fault: BrokerFault
        var found: String
        var publishers = 2
        var testDescription: String { found }
    }

    @Test(arguments: [
        Case(fault: .loses(5), found: "1 deliveries of accepted events lost"),
        Case(fault: .duplicates(5), found: "1 repeated or out of order"),
        Case(
            fault: .swaps(5),
            found: "1 deliveries of accepted events lost, 1 repeated or out of order",
            publishers: 1
        ),
        Case(fault: .deliversRefused(5), found: "3 deliveries of events answered 503"),
        Case(fault: .closesFirst(5), found: "1 subscribers closed: 1 with 4100"),
        Case(fault: .endsConnection(5), found: "1 publishing connections lost"),
        Case(
            fault: .losesUnrelated(5),
            found: "the unrelated channel: 1 deliveries of accepted events lost"
        ),
        Case(fault: .refusesBriefly(1_000_000), found: "1 answers 503 without Retry-After"),
    ])
    func finds(_ given: Case) async throws {
        let scenario = try scenario(publishers: given.publishers)
        let report = try await TargetServer.report(on: scenario, given.fault)
        #expect(faults(report).contains(given.found), "\(report.fault ?? "no fault")")
    }

    @Test func refusedEventsAreNotDelivered() async throws {
        let report = try await TargetServer.report(on: scenario(), .refusesEvery(3))
        #expect(faults(report) == [])
        #expect(report["overload_refused"] == .integer(20))
        #expect(report["overload_accepted"] == .integer(40))
    }

    @Test func waitsForRetryAfter() async throws {
        let scenario = try scenario(publishers: 1, ["--retry-after", "--seconds", "1.5"])
        let report = try await TargetServer.report(on: scenario, .refusesEvery(10_000))
        #expect(faults(report) == [])
        #expect(report["pauses"] == .integer(1))
    }

    @Test func ourBrokerDeliversWhatItAccepts() async throws {
        let report = try await BrokerServer.report(on: scenario(events: 500))
        #expect(faults(report) == [])
        #expect(report["deliveries"] == report["expected"])
        #expect(report["overload_accepted"] == .integer(500))
    }
}
