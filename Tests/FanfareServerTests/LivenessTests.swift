import Testing

@testable import FanfareServer
@testable import Shard

@Suite("The liveness of clients") struct LivenessTests {
    private let settings = Liveness.Settings(activityTimeout: 120, pongTimeout: 30)

    @Test func isPingedLaterThanItShouldHavePingedItself() {
        var liveness = Liveness(now: 1_000)
        #expect(actions(of: &liveness, at: [1_149, 1_150]) == [.wait, .ping(.frame)])
        #expect(actions(of: &liveness, at: [1_151, 1_179, 1_180]) == [.wait, .wait, .close])
    }

    @Test func mayAnswerAsLongAfterALatePing() {
        var liveness = Liveness(now: 1_000)
        let actions = actions(of: &liveness, at: [1_160, 1_189, 1_190])
        #expect(actions == [.ping(.frame), .wait, .close])
    }

    @Test func anyReceiptStartsAgain() {
        var liveness = Liveness(now: 0)
        liveness.received(at: 100)
        #expect(actions(of: &liveness, at: [150, 249, 250]) == [.wait, .wait, .ping(.frame)])
        liveness.received(at: 251)
        #expect(actions(of: &liveness, at: [280, 400, 401]) == [.wait, .wait, .ping(.frame)])
    }

    @Test func pingsAPresentClientEarlier() {
        var liveness = Liveness(now: 0)
        liveness.becamePresent(timeout: 60)
        let actions = actions(of: &liveness, at: [59, 60, 89, 90])
        #expect(actions == [.wait, .ping(.both), .wait, .close])
    }

    @Test("A client that has answered a pusher:ping gets no ping frame: browsers answer it")
    func pingsByMessage() {
        var liveness = Liveness(now: 0)
        liveness.becamePresent(timeout: 60)
        liveness.receivedPong()
        liveness.received(at: 10)
        #expect(actions(of: &liveness, at: [69, 70, 100]) == [.wait, .ping(.message), .close])
    }

    @Test("Without a time of its own, a present client is pinged like others")
    func pingsPresentClientsLikeOthers() {
        var liveness = Liveness(now: 0)
        liveness.receivedPong()
        liveness.becamePresent(timeout: 0)
        #expect(actions(of: &liveness, at: [149, 150]) == [.wait, .ping(.frame)])
        liveness.becamePresent(timeout: 3_600)
        liveness.received(at: 200)
        #expect(actions(of: &liveness, at: [349, 350]) == [.wait, .ping(.message)])
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
