import Testing

@testable import FanfareServer
@testable import Shard

@Suite("The liveness of clients") struct LivenessTests {
    private let settings = Liveness.Settings(activityTimeout: 120, pongTimeout: 30)

    @Test func isPingedLaterThanItShouldHavePingedItself() {
        var liveness = Liveness(now: 1_000)
        #expect(actions(of: &liveness, at: [1_149, 1_150]) == [.wait, .ping])
        #expect(actions(of: &liveness, at: [1_151, 1_179, 1_180]) == [.wait, .wait, .close])
    }

    @Test func mayAnswerAsLongAfterALatePing() {
        var liveness = Liveness(now: 1_000)
        #expect(actions(of: &liveness, at: [1_160, 1_189, 1_190]) == [.ping, .wait, .close])
    }

    @Test func anyReceiptStartsAgain() {
        var liveness = Liveness(now: 0)
        liveness.received(at: 100)
        #expect(actions(of: &liveness, at: [150, 249, 250]) == [.wait, .wait, .ping])
        liveness.received(at: 251)
        #expect(actions(of: &liveness, at: [280, 400, 401]) == [.wait, .wait, .ping])
    }

    @Test(
        "The interval of the checks follows from the timeouts",
        arguments: [(120, 30, 10), (120, 9, 3), (5, 30, 1), (1, 1, 1)]
    )
    func looksOftenEnough(activityTimeout: Int, pongTimeout: Int, interval: Int) {
        let settings = Liveness.Settings(
            activityTimeout: activityTimeout,
            pongTimeout: pongTimeout
        )
        #expect(settings.interval == interval)
    }

    private func actions(of liveness: inout Liveness, at times: [UInt32]) -> [Liveness.Action] {
        var actions: [Liveness.Action] = []
        for time in times { actions.append(liveness.check(at: time, settings)) }
        return actions
    }
}
