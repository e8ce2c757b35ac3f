import Net
import PusherProtocol
import Testing

@testable import fanfare

@Suite("Connections that come and go", .timeLimit(.minutes(1))) struct BenchChurnTests {
    private func plan(rate: Double? = nil) throws -> ChurnPlan {
        ChurnPlan(channel: try ChannelName("news"), cycleCount: 20, concurrency: 4, rate: rate)
    }

    @Test(arguments: [nil, 500.0]) func areCounted(rate: Double?) async throws {
        let report = try await BenchSubject.report(on: plan(rate: rate), .none)
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
        let report = try await BenchSubject.report(
            on: plan(),
            .none,
            scheme: "wss",
            trust: .insecure
        )
        #expect(report["cycles"] == .integer(20))
    }

    @Test func aMissingCloseFrameIsSaid() async throws {
        let report = try await BenchSubject.report(on: plan(), .closesWithoutFrame)
        #expect(report["unclean_closes"] == .integer(20))
    }

    @Test(arguments: [
        (BrokerFault.answersNoCloses, "0 of 4 that were begun are closed"),
        (.answersNoSubscriptions, "0 of 4 that were begun are closed"),
        (.refusesSubscriptions, "was not let in: AuthError"),
    ])
    func areRefused(_ fault: BrokerFault, _ text: String) async throws {
        await #expect {
            try await BenchSubject.report(on: plan(), fault)
        } throws: { error in
            "\(error)".contains(text)
        }
    }
}

@Suite("Connections that do nothing", .timeLimit(.minutes(1))) struct BenchIdleTests {
    private func plan() throws -> IdlePlan {
        IdlePlan(
            channel: try ChannelName("news"),
            connectionCount: 5,
            duration: .milliseconds(100)
        )
    }

    @Test func areWeighed() async throws {
        let report = try await BenchSubject.report(on: plan(), .none)
        #expect(report.fault == nil)
        #expect(report["deliveries"] == .integer(5))
        guard case .integer(let before) = report["memory_before_bytes"],
            case .integer(let after) = report["memory_after_bytes"],
            case .number(let each?, _) = report["memory_bytes_per_connection"],
            case .number(.some, _) = report["idle_cpu_ms_per_s"]
        else {
            Issue.record("\(report)")
            return
        }
        #expect(before > 0)
        #expect(abs(each - Double(after - before) / 5) < 1)
    }

    @Test func oneThatHasGoneIsAFault() async throws {
        let report = try await BenchSubject.report(on: plan(), .loses(0))
        #expect(report.fault == "1 lost: nothing arrived any more for 3.0 s")
    }
}
