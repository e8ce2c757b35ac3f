import Net
import PusherProtocol
import Testing

@testable import FanfareBench

@Suite("Connections that open and close", .timeLimit(.minutes(1))) struct ChurnTests {
    private func scenario(_ options: [String] = []) throws -> ChurnCommand {
        try .with(["--cycles", "20", "--concurrency", "4"] + options)
    }

    @Test(arguments: [[], ["--rate", "500"]]) func areCounted(options: [String]) async throws {
        let report = try await TargetServer.report(on: scenario(options), .none)
        #expect(report.fault == nil)
        #expect(report["cycles"] == .integer(20))
        #expect(report["unclean_closes"] == .integer(0))
        #expect(try report.latency("subscribed_latency_us").p50 > 0)
    }

    @Test func overTLS() async throws {
        let report = try await TargetServer.report(
            on: scenario(),
            .none,
            scheme: "wss",
            trust: .insecure
        )
        #expect(report["cycles"] == .integer(20))
    }

    @Test func missingCloseFramesAreCounted() async throws {
        let report = try await TargetServer.report(on: scenario(), .closesWithoutFrame)
        #expect(report["unclean_closes"] == .integer(20))
    }

    @Test(arguments: [
        (BrokerFault.answersNoCloses, "0 of 4 connections are closed"),
        (.answersNoSubscriptions, "0 of 4 connections are closed"),
        (.refusesSubscriptions, "was refused: AuthError"),
    ])
    func areRefused(_ fault: BrokerFault, _ text: String) async throws {
        await #expect {
            try await TargetServer.report(on: scenario(), fault)
        } throws: { error in
            "\(error)".contains(text)
        }
    }
}
