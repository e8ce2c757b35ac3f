import BrokerConfiguration
import FanfareServer
import Foundation
import Histogram
import Net
import PusherProtocol
import Testing

@testable import FanfareBench

@Suite("Readers beside stalled readers", .timeLimit(.minutes(1)))
struct StalledTests {
    private func scenario(
        seconds: Double = 1,
        rounds: Int = 1,
        _ pace: [String] = ["--window", "4"]
    ) throws -> StalledCommand {
        try .with(
            [
                "--subscribers", "4", "--stalled", "4", "--seconds", "\(seconds)",
                "--rounds", "\(rounds)", "--size", "8192", "--backlog", "1", "--budget", "64",
            ] + pace
        )
    }

    private func fault(_ results: StalledResults, unclosedCount: Int = 0) -> String? {
        results.fault(backlog: 1 << 20, budget: 64 << 20, unclosedCount: unclosedCount)
    }

    @Test func slicesAlternate() throws {
        #expect(try scenario(rounds: 1).slices == [false, true])
        #expect(try scenario(rounds: 3).slices == [false, true, true, false, false, true])
        #expect(try scenario(rounds: 4).slice == .milliseconds(250))
    }

    // MARK: Faults

    private func results(
        alone: UInt64,
        beside: UInt64,
        memory: (before: Int, peak: Int)? = nil
    ) -> StalledResults {
        var results = StalledResults()
        for (hasStalled, latency) in [(false, alone), (true, beside)] {
            var latencies = Histogram<UInt64>.latencies
            latencies.record(latency * 1_000_000, count: 100)
            results.slices.append(
                .init(
                    hasStalled: hasStalled,
                    latencies: latencies,
                    deliveries: 100,
                    time: .seconds(2)
                )
            )
        }
        results.growth = memory.map { $0.peak - $0.before }
        return results
    }

    @Test func aFifthMoreLatencyIsAllowed() throws {
        #expect(fault(results(alone: 100, beside: 119)) == nil)
        #expect(fault(results(alone: 100, beside: 50)) == nil)
        let fault = fault(results(alone: 100, beside: 130))
        #expect(fault == "p99 latency with stalled readers is 1.30 times as high; 1.2 is allowed")
    }

    @Test func noDeliveriesAreAFault() throws {
        let fault = fault(StalledResults())
        #expect(
            fault == "p99 latency with stalled readers is unknown times as high; 1.2 is allowed"
        )
    }

    @Test func memoryMayGrowByTheBudget() throws {
        let within = results(alone: 9, beside: 9, memory: (100 << 20, 164 << 20))
        #expect(fault(within) == nil)
        let beyond = results(alone: 9, beside: 9, memory: (100 << 20, 165 << 20))
        #expect(
            fault(beyond)
                == "the server's memory grew by 65.0 MiB; 64.0 MiB is allowed"
        )
    }

    @Test func aStalledReaderThatIsNotClosedIsAFault() throws {
        #expect(
            fault(results(alone: 9, beside: 9), unclosedCount: 2)
                == "2 stalled readers were not closed after 1.0 MiB"
        )
    }

    @Test func ratesAreThoseOfTheirSlices() {
        let results = results(alone: 9, beside: 18)
        #expect(results.rate(withStalled: false) == 50)
        #expect(results.rate(withStalled: true) == 50)
        #expect(abs((results.ratio(\.p99) ?? 0) - 2) < 0.01)
    }

    // MARK: Against a server

    @Test func ourBrokerClosesThemAndTheOthersLoseNothing() async throws {
        var configuration = Configuration.development
        configuration.streamLimits.queuedBytesMax = 64 << 10
        let report = try await BrokerServer.report(on: scenario(), configuration)
        #expect(report["lost"] == .integer(0))
        #expect(report["duplicated"] == .integer(0))
        #expect(report["out_of_order"] == .integer(0))
        #expect(report["unclosed"] == .integer(0))
        // The close frame follows what the kernel holds, which is read to its end.
        #expect(try report.integer("stalled_closed_4100") >= 4)
        #expect(report["stalled_ended"] == .integer(0))
        _ = try report.number("p99_ratio")
        guard case .integers(let memory) = report["resident_over_time_bytes"] else {
            throw MissingMember(name: "resident_over_time_bytes")
        }
        #expect(!memory.isEmpty)
    }

    @Test func countsWhatAReaderLoses() async throws {
        let report = try await TargetServer.report(on: scenario(["--window", "1"]), .loses(7))
        #expect(report["lost"] == .integer(1))
        #expect(report.fault?.hasPrefix("1 lost: no delivery for 3.0 s") == true)
    }

    @Test func stalledReadersThatAreNotClosedAreFound() async throws {
        // This server's queues are unlimited.
        let scenario = try scenario(seconds: 2.5, ["--rate", "200"])
        let report = try await TargetServer.report(
            on: scenario,
            .none,
            stallTimeout: .seconds(1)
        )
        #expect(report["lost"] == .integer(0))
        let count = try report.integer("unclosed")
        // Each of the four is found whenever it resumes reading.
        #expect(count >= 4)
        #expect(report.fault?.contains("\(count) stalled readers were not closed") == true)
    }
}
