import Testing

@testable import FanfareServer

@Suite("When a silent client is given up") struct LivenessTests {
    private let settings = Liveness.Settings(activityTimeout: 120, pongTimeout: 30)

    @Test func isPingedLaterThanItShouldHavePingedItself() {
        var liveness = Liveness(now: 1_000)
        #expect(verdicts(of: &liveness, at: [1_149, 1_150]) == [.wait, .ping])
        #expect(verdicts(of: &liveness, at: [1_151, 1_179, 1_180]) == [.wait, .wait, .close])
    }

    @Test func mayAnswerAsLongAfterALatePing() {
        var liveness = Liveness(now: 1_000)
        #expect(verdicts(of: &liveness, at: [1_160, 1_189, 1_190]) == [.ping, .wait, .close])
    }

    @Test func anythingHeardBeginsAnew() {
        var liveness = Liveness(now: 0)
        liveness.heard(at: 100)
        #expect(verdicts(of: &liveness, at: [150, 249, 250]) == [.wait, .wait, .ping])
        liveness.heard(at: 251)
        #expect(verdicts(of: &liveness, at: [280, 400, 401]) == [.wait, .wait, .ping])
    }

    @Test(
        "Connections are looked at often enough for their times",
        arguments: [(120, 30, 10), (120, 9, 3), (5, 30, 1), (1, 1, 1)]
    )
    func looksOftenEnough(activityTimeout: Int, pongTimeout: Int, interval: Int) {
        let settings = Liveness.Settings(
            activityTimeout: activityTimeout,
            pongTimeout: pongTimeout
        )
        #expect(settings.interval == interval)
    }

    private func verdicts(of liveness: inout Liveness, at times: [UInt32]) -> [Liveness.Verdict] {
        var verdicts: [Liveness.Verdict] = []
        for time in times { verdicts.append(liveness.judge(at: time, settings)) }
        return verdicts
    }
}
