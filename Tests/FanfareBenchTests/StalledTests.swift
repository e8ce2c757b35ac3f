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
    private func plan(rounds: Int = 1, pace: Pace = .window(4)) throws -> StalledPlan {
        StalledPlan(
            channels: [try ChannelName("news")],
            subscribersPerChannel: 4,
            stalledCount: 4,
            duration: .seconds(1),
            roundCount: rounds,
            dataLength: 8_192,
            pace: pace,
            backlog: 1 << 20,
            reconnectsPerSecond: 100,
            budget: 64 << 20
        )
    }

    @Test func slicesAlternate() throws {
        #expect(try plan(rounds: 1).slices == [false, true])
        #expect(try plan(rounds: 3).slices == [false, true, true, false, false, true])
        #expect(try plan(rounds: 4).slice == .milliseconds(250))
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
            results.add(
                .init(
                    hasStalled: hasStalled,
                    latencies: latencies,
                    deliveries: 100,
                    time: .seconds(2)
                )
            )
        }
        results.residentBefore = memory?.before
        results.residentPeak = memory?.peak
        return results
    }

    @Test func aFifthMoreLatencyIsAllowed() throws {
        let plan = try plan()
        #expect(results(alone: 100, beside: 119).fault(plan, unclosedCount: 0) == nil)
        #expect(results(alone: 100, beside: 50).fault(plan, unclosedCount: 0) == nil)
        let fault = results(alone: 100, beside: 130).fault(plan, unclosedCount: 0)
        #expect(fault == "p99 latency with stalled readers is 1.30 times as high; 1.2 is allowed")
    }

    @Test func noDeliveriesAreAFault() throws {
        let fault = StalledResults().fault(try plan(), unclosedCount: 0)
        #expect(
            fault == "p99 latency with stalled readers is unknown times as high; 1.2 is allowed"
        )
    }

    @Test func memoryMayGrowByTheBudget() throws {
        let plan = try plan()
        let within = results(alone: 9, beside: 9, memory: (100 << 20, 164 << 20))
        #expect(within.fault(plan, unclosedCount: 0) == nil)
        let beyond = results(alone: 9, beside: 9, memory: (100 << 20, 165 << 20))
        #expect(
            beyond.fault(plan, unclosedCount: 0)
                == "the server's memory grew by 65.0 MiB; 64.0 MiB is allowed"
        )
    }

    @Test func aStalledReaderThatIsNotClosedIsAFault() throws {
        #expect(
            results(alone: 9, beside: 9).fault(try plan(), unclosedCount: 2)
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
        configuration.port = 0
        configuration.loops = 2
        configuration.queuedBytesMax = 64 << 10
        let server = try BrokerServer(configuration: configuration)
        let port = try #require(try await server.start().plain?.port)
        var target = try TargetServer(url: "ws://127.0.0.1:\(port)")
        target.stallTimeout = .seconds(10)
        let result = await target.result(of: try plan())
        await server.stop(within: .seconds(1))
        let report = try result.get()
        #expect(report["lost"] == .integer(0))
        #expect(report["duplicated"] == .integer(0))
        #expect(report["out_of_order"] == .integer(0))
        #expect(report["unclosed"] == .integer(0))
        guard case .integer(let closed) = report["stalled_closed_4100"],
            case .integer(let ended) = report["stalled_ended"],
            case .number(.some, _) = report["p99_ratio"],
            case .integers(let memory) = report["resident_over_time_bytes"]
        else {
            Issue.record("\(report.json)")
            return
        }
        // The close frame follows what the kernel holds, which is read to its end.
        #expect(closed >= 4)
        #expect(ended == 0)
        #expect(!memory.isEmpty)
    }

    @Test func countsWhatAReaderLoses() async throws {
        let report = try await TargetServer.report(on: plan(pace: .window(1)), .loses(7))
        #expect(report["lost"] == .integer(1))
        #expect(report.fault?.hasPrefix("1 lost: no delivery for 3.0 s") == true)
    }

    @Test func stalledReadersThatAreNotClosedAreFound() async throws {
        // This server's queues are unlimited.
        var plan = try plan(pace: .rate(200))
        plan.duration = .seconds(2.5)
        let broker = try FaultyBroker.start(.none)
        var target = try TargetServer(url: "ws://127.0.0.1:\(broker.port)")
        target.stallTimeout = .seconds(1)
        let result = await target.result(of: plan)
        await broker.stop()
        let report = try result.get()
        #expect(report["lost"] == .integer(0))
        guard case .integer(let count) = report["unclosed"] else {
            Issue.record("\(report.json)")
            return
        }
        // Each of the four is found whenever it resumes reading.
        #expect(count >= 4)
        #expect(report.fault?.contains("\(count) stalled readers were not closed") == true)
    }
}
