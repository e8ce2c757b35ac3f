import Testing

@testable import FanfareBench

@Suite("A growing presence channel", .timeLimit(.minutes(1))) struct JoinsTests {
    private func scenario(_ options: [String] = []) throws -> JoinsCommand {
        try .with(["--users", "12", "--step", "5"] + options)
    }

    @Test(arguments: [[], ["--within", "0.1"]])
    func allUsersKnowEachOther(options: [String]) async throws {
        let report = try await TargetServer.report(on: scenario(options), .none)
        #expect(report.fault == nil)
        #expect(report["members"] == .integer(12))
        // Of each pair of users, the one that joined first is notified of the other.
        #expect(report["notices"] == .integer(12 * 11 / 2))
        for count in [5, 10, 12] {
            #expect(try report.number("members_\(count)_duration_s") > 0)
        }
    }

    @Test func aNoticeThatIsLost() async throws {
        let report = try await TargetServer.report(on: scenario(), .losesNotice(3))
        let fault = try #require(report.fault)
        #expect(fault.hasSuffix("member notices missing: no progress for 3.0 s"))
    }

    @Test func aNoticeThatComesTwice() async throws {
        let report = try await TargetServer.report(on: scenario(), .duplicatesNotice(10))
        let fault = try #require(report.fault)
        #expect(fault.contains("1 member notices repeated"))
    }
}
