import Testing

@testable import FanfareBench

@Suite("Idle connections", .timeLimit(.minutes(1))) struct IdleTests {
    private func scenario() throws -> IdleCommand {
        try .with(["--connections", "5", "--seconds", "0.1"])
    }

    @Test func areMeasured() async throws {
        let report = try await TargetServer.report(on: scenario(), .none)
        #expect(report.fault == nil)
        #expect(report["deliveries"] == .integer(5))
        let before = try report.integer("memory_before_bytes")
        #expect(before > 0)
        let growth = Double(try report.integer("memory_after_bytes") - before) / 5
        guard case .number(let each, _) = report["memory_bytes_per_connection"] else {
            throw MissingMember(name: "memory_bytes_per_connection")
        }
        #expect(growth > 0 ? abs((each ?? 0) - growth) < 1 : each == nil)
        _ = try report.number("idle_cpu_ms_per_s")
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
        let row = IdleCommand.growth(from: before, to: after, of: 5)
        #expect(row.text == text)
        guard case .number(let number, _)? = row.members.first?.1 else {
            Issue.record("\(row)")
            return
        }
        #expect(number == each)
    }

    @Test func aLostConnectionIsAFault() async throws {
        let report = try await TargetServer.report(on: scenario(), .loses(0))
        #expect(report.fault == "1 lost: no delivery for 3.0 s")
    }
}
