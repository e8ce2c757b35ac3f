import Net
import PusherProtocol
import Testing

@testable import FanfareBench

@Suite("Connections that open and close", .timeLimit(.minutes(1))) struct ChurnTests {
    private func plan(rate: Double? = nil) throws -> ChurnPlan {
        ChurnPlan(channel: try ChannelName("news"), cycleCount: 20, concurrency: 4, rate: rate)
    }

    @Test(arguments: [nil, 500.0]) func areCounted(rate: Double?) async throws {
        let report = try await TargetServer.report(on: plan(rate: rate), .none)
        #expect(report.fault == nil)
        #expect(report["cycles"] == .integer(20))
        #expect(report["unclean_closes"] == .integer(0))
        guard case .latency(let latency) = report["subscribed_latency_us"] else {
            Issue.record("\(report)")
            return
        }
        #expect(latency.p50 > 0)
    }

    @Test func overTLS() async throws {
        let report = try await TargetServer.report(
            on: plan(),
            .none,
            scheme: "wss",
            trust: .insecure
        )
        #expect(report["cycles"] == .integer(20))
    }

    @Test func missingCloseFramesAreCounted() async throws {
        let report = try await TargetServer.report(on: plan(), .closesWithoutFrame)
        #expect(report["unclean_closes"] == .integer(20))
    }

    @Test(arguments: [
        (BrokerFault.answersNoCloses, "0 of 4 connections are closed"),
        (.answersNoSubscriptions, "0 of 4 connections are closed"),
        (.refusesSubscriptions, "was refused: AuthError"),
    ])
    func areRefused(_ fault: BrokerFault, _ text: String) async throws {
        await #expect {
            try await TargetServer.report(on: plan(), fault)
        } throws: { error in
            "\(error)".contains(text)
        }
    }
}
