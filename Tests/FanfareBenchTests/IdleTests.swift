import PusherProtocol
import Testing

@testable import FanfareBench

@Suite("Idle connections", .timeLimit(.minutes(1))) struct IdleTests {
    private func plan() throws -> IdlePlan {
        IdlePlan(
            channel: try ChannelName("news"),
            connectionCount: 5,
            duration: .milliseconds(100)
        )
    }

    @Test func areMeasured() async throws {
        let report = try await TargetServer.report(on: plan(), .none)
        #expect(report.fault == nil)
        #expect(report["deliveries"] == .integer(5))
        guard case .integer(let before) = report["memory_before_bytes"],
            case .integer(let after) = report["memory_after_bytes"],
            case .number(let each, _) = report["memory_bytes_per_connection"],
            case .number(.some, _) = report["idle_cpu_ms_per_s"]
        else {
            Issue.record("\(report)")
            return
        }
        #expect(before > 0)
        let growth = Double(after - before) / 5
        #expect(growth > 0 ? abs((each ?? 0) - growth) < 1 : each == nil)
    }

    @Test(
        "Memory that a server reuses is not reported as growth",
        arguments: [
            (from: 1_000, to: 3_000, text: "400 bytes", each: 400.0),
            (
                from: 3_000, to: 2_500,
                text: "no growth: the server reused memory; restart it and measure again", each: nil
            ),
        ] as [(from: Int, to: Int, text: String, each: Double?)]
    )
    func growth(from before: Int, to after: Int, text: String, each: Double?) {
        let row = IdleRun.growth(from: before, to: after, of: 5)
        #expect(row.text == text)
        guard case .number(let number, _)? = row.members.first?.1 else {
            Issue.record("\(row)")
            return
        }
        #expect(number == each)
    }

    @Test func aLostConnectionIsAFault() async throws {
        let report = try await TargetServer.report(on: plan(), .loses(0))
        #expect(report.fault == "1 lost: no delivery for 3.0 s")
    }
}
