import Broker
import BrokerConfiguration
import CommandSupport
import FanfareServer
import Foundation
import Net
import PusherProtocol
import Testing

@testable import FanfareBench

@Suite("A mixed load for a long time", .timeLimit(.minutes(1))) struct SoakTests {
    private func report(_ configuration: Configuration) async throws -> BenchReport {
        let scenario = try SoakCommand.with([
            "--seconds", "1.5", "--warm-up", "0.5", "--settle", "0.5", "--residents", "16",
            "--rate", "400", "--size", "4096", "--visitors", "20", "--slow", "4", "--backlog", "1",
        ])
        return try await BrokerServer.report(on: scenario, configuration) { _ in }
    }

    @Test func everyBehaviourIsCheckedInOurBroker() async throws {
        let report = try await report(.development)
        for name in ["all", "plain_residents", "plain_visitors", "presence", "client_events"] {
            #expect(report["\(name)_lost"] == .integer(0))
            #expect(report["\(name)_misplaced"] == .integer(0))
            #expect(try report.integer("\(name)_deliveries") > 0, "\(name)")
        }
        #expect(try report.integer("plain_visitors_came") >= 20)
        for way in ["reset", "moved", "sipped"] {
            #expect(try report.integer("plain_visitors_\(way)") > 0, "\(way)")
        }
        #expect(report["plain_visitors_ended"] == .integer(0))
    }

    @Test func missingClientEventsAreReported() async throws {
        var configuration = Configuration.development
        configuration.apps[0].features.clientEvents = false
        await #expect {
            try await report(configuration)
        } throws: { error in
            "\(error)".contains("lient event")
        }
    }

    // MARK: Comparison

    private func comparison(
        _ before: (Int, Int),
        _ after: (Int, Int)
    ) -> SoakComparison {
        SoakComparison(
            before: Footprint(resident: before.0 << 20, descriptors: before.1),
            after: Footprint(resident: after.0 << 20, descriptors: after.1)
        )
    }

    @Test func growthIsAFault() {
        #expect(comparison((32, 50), (36, 50)).fault == nil)
        #expect(comparison((32, 50), (20, 40)).fault == nil)
        #expect(
            comparison((32, 50), (37, 50)).fault == "memory grew by 5.0 MiB; 4.0 MiB is allowed"
        )
        #expect(comparison((320, 50), (340, 50)).fault == nil)
        #expect(
            comparison((320, 50), (341, 50)).fault == "memory grew by 21.0 MiB; 20.0 MiB is allowed"
        )
        #expect(comparison((32, 50), (32, 51)).fault == "1 descriptors were not closed")
    }

    // MARK: Footprint

    @Test func residentMemoryIsRead() {
        let status = "Name:\tfanfare\nVmPeak:\t  214 kB\nVmRSS:\t   43092 kB\nRssAnon:\t 9 kB\n"
        #expect(ProcFile.byteCount(of: "VmRSS:", in: status) == 43_092 * 1_024)
        #expect(ProcFile.byteCount(of: "VmRSS:", in: "VmPeak: 214 kB") == nil)
    }

    @Test func theKernelsMemoryForTCPIsRead() {
        let status =
            "sockets: used 531\nTCP: inuse 127 orphan 0 tw 813 alloc 133 mem 12\nUDP: inuse 8 mem 0\n"
        #expect(Footprint.kernelTCP(in: status) == 12 * 4_096)
        #expect(Footprint.kernelTCP(in: "UDP: inuse 8 mem 0") == nil)
    }

    @Test func theFootprintOfThisProcessIsMeasured() throws {
        let process = try #require(ServerProcess(id: getpid()))
        let footprint = try #require(Footprint(of: process))
        #expect(footprint.resident > 1 << 20)
        #expect(footprint.descriptors > 2)
        #expect(try #require(Footprint.kernelTCP()) >= 0)
    }
}
