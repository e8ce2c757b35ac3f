import Net
import PusherProtocol
import Testing

@testable import FanfareBench

@Suite("A growing presence channel", .timeLimit(.minutes(1))) struct JoinsTests {
    private func plan(rate: Double? = nil) throws -> JoinsPlan {
        JoinsPlan(
            channel: try ChannelName("presence-room"),
            userCount: 12,
            stepCount: 5,
            rate: rate
        )
    }

    @Test(arguments: [nil, 200.0]) func allUsersKnowEachOther(rate: Double?) async throws {
        let report = try await TargetServer.report(on: plan(rate: rate), .none)
        #expect(report.fault == nil)
        #expect(report["members"] == .integer(12))
        // Of each pair of users, the one that joined first is notified of the other.
        #expect(report["notices"] == .integer(12 * 11 / 2))
        for count in [5, 10, 12] {
            guard case .number(let time?, _) = report["members_\(count)_duration_s"] else {
                Issue.record("\(report)")
                continue
            }
            #expect(time > 0)
        }
    }

    @Test func aNoticeThatIsLost() async throws {
        let report = try await TargetServer.report(on: plan(), .losesNotice(3))
        let fault = try #require(report.fault)
        #expect(fault.hasSuffix("member notices missing: no progress for 3.0 s"))
    }

    @Test func aNoticeThatComesTwice() async throws {
        let report = try await TargetServer.report(on: plan(), .duplicatesNotice(10))
        let fault = try #require(report.fault)
        #expect(fault.contains("1 member notices repeated"))
    }
}
