import PusherProtocol
import Testing

@testable import FanfareClient

@Suite("Activity") struct SessionActivityTests {
    @Test func takesTheShorterTimeout() {
        for (own, asked, used) in [(120, 30, 30), (20, 120, 20), (60, 0, 60), (60, -5, 60)] {
            var driver = SessionDriver(activityTimeout: .seconds(own))
            _ = driver.session.connect()
            #expect(driver.greet(activityTimeout: asked).first == .startTimer(.seconds(used)))
        }
    }

    @Test func pingsAfterSilenceAndTimesOutWithoutAnAnswer() {
        var driver = SessionDriver.connected()
        #expect(driver.fire(after: .seconds(120)) == [.send(.ping), .startTimer(.seconds(30))])
        let effects = driver.fire(after: .seconds(30))
        #expect(effects.first == .close(code: 1000, reason: ""))
        #expect(effects.delay != nil)
        #expect(
            driver.session.status
                == effects.delay.map {
                    .waiting(delay: $0, because: .pingUnanswered(limit: .seconds(30)))
                }
        )
    }

    @Test(
        "A silent connection that is cut lets later ones ping earlier; nothing else does",
        arguments: [
            (60, false, 45), (100, false, 75), (11, false, 10), (5, false, 120), (0, false, 120),
            (130, true, 120),
        ]
    )
    func learnsFromCuts(silence: Int, isPinged: Bool, expected: Int) {
        var driver = SessionDriver.connected()
        driver.now += .seconds(7)
        _ = driver.receive(.pong)
        if isPinged { _ = driver.fire(after: .seconds(120)) }
        driver.now += .seconds(isPinged ? silence - 120 : silence)
        _ = driver.session.closed(.cut(reason: "reset"), at: driver.now)
        for _ in 0..<2 {
            _ = driver.fire(after: .seconds(60))
            #expect(driver.greet().contains(.startTimer(.seconds(expected))))
            #expect(
                driver.fire(after: .seconds(expected)) == [.send(.ping), .startTimer(.seconds(30))]
            )
            _ = driver.receive(.pong)
            // A closing handshake teaches nothing.
            driver.now += .seconds(30)
            _ = driver.close(1001)
        }
    }

    @Test func takesAnythingForAnAnswer() {
        let signs: [(inout SessionDriver) -> Void] = [
            { _ = $0.receive(.pong) }, { _ = $0.receive(.ping) },
            { $0.session.received(at: $0.now) },
            { _ = $0.session.receiveInvalid("?", at: $0.now) },
            { _ = $0.receive(.event(ReceivedEvent(name: "e", channel: "x", data: nil))) },
        ]
        for sign in signs {
            var driver = SessionDriver.connected()
            _ = driver.fire(after: .seconds(120))
            driver.now += .seconds(10)
            sign(&driver)
            #expect(driver.fire(after: .seconds(20)) == [.startTimer(.seconds(100))])
            #expect(driver.fire(after: .seconds(100)).first == .send(.ping))
        }
    }

    @Test func checksAgainAfterReceivedMessages() {
        var driver = SessionDriver.connected()
        driver.now = .seconds(100)
        _ = driver.receive(.pong)
        #expect(driver.fire(after: .seconds(20)) == [.startTimer(.seconds(100))])
    }

    @Test func answersPings() {
        var driver = SessionDriver.connected()
        #expect(driver.receive(.ping) == [.send(.pong)])
        #expect(driver.receive(.pong) == [])
    }

    @Test func doesNotJudgeSilenceWhileItDoesNotRead() {
        var driver = SessionDriver.connected()
        driver.session.setReading(false, at: .seconds(1))
        #expect(driver.fire(after: .seconds(120)) == [.startTimer(.seconds(120))])
        #expect(driver.fire(after: .seconds(120)) == [.startTimer(.seconds(120))])
        driver.session.setReading(true, at: .seconds(300))
        driver.now = .seconds(360)
        #expect(driver.fire(after: .zero) == [.startTimer(.seconds(60))])
    }
}
