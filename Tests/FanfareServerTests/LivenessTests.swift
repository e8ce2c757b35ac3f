import Testing

@testable import FanfareServer

@Suite("When a silent client is given up") struct LivenessTests {
    private let settings = Liveness.Settings(activityTimeout: 120, pongTimeout: 30)

    @Test func isPingedLaterThanItShouldHavePingedItself() {
        var liveness = Liveness(settings: settings, now: 1_000)
        #expect(liveness.patience == .seconds(150))
        let early = liveness.judge(at: 1_149)
        #expect(early == .wait(.seconds(1)))
        let due = liveness.judge(at: 1_150)
        #expect(due == .ping(.seconds(30)))
        let unanswered = liveness.judge(at: 1_180)
        #expect(unanswered == .close)
    }

    @Test func anythingHeardBeginsAnew() {
        var liveness = Liveness(settings: settings, now: 0)
        liveness.heard(at: 100)
        let first = liveness.judge(at: 150)
        #expect(first == .wait(.seconds(100)))
        let second = liveness.judge(at: 250)
        #expect(second == .ping(.seconds(30)))
        liveness.heard(at: 251)
        let third = liveness.judge(at: 280)
        #expect(third == .wait(.seconds(121)))
    }
}
