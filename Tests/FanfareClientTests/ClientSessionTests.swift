import PusherProtocol
import Testing

@testable import FanfareClient

@Suite("Connecting and disconnecting") struct SessionConnectionTests {
    @Test func opensOnceAndWaitsForTheFirstMessage() {
        var driver = SessionDriver()
        #expect(
            driver.session.connect() == [
                .status(.connecting(attempt: 1)), .open, .startTimer(.seconds(15)),
            ]
        )
        #expect(driver.session.connect() == [])
        #expect(
            driver.greet() == [
                .startTimer(.seconds(120)), .status(.connected(socketID: "123.456")),
            ]
        )
        #expect(driver.session.connect() == [])
        #expect(driver.session.status == .connected(socketID: "123.456"))
    }

    @Test func disconnectsFromEveryState() {
        let stopped: [SessionEffect] = [.stopTimer, .status(.disconnected)]
        var fresh = SessionDriver()
        #expect(fresh.session.disconnect() == [])

        var opening = SessionDriver()
        _ = opening.session.connect()
        #expect(opening.session.disconnect() == [.close(code: 1000, reason: "")] + stopped)

        var connected = SessionDriver.connected()
        #expect(connected.session.disconnect() == [.close(code: 1000, reason: "")] + stopped)

        var waiting = SessionDriver.connected()
        _ = waiting.close(1006)
        #expect(waiting.session.disconnect() == stopped)

        var failed = SessionDriver.connected()
        _ = failed.close(4001)
        #expect(failed.session.disconnect() == stopped)
    }

    @Test func staysDisconnectedAfterAnyInput() {
        var driver = SessionDriver.connected(to: ["a"])
        _ = driver.session.disconnect()
        #expect(driver.fire(after: .seconds(1000)) == [])
        #expect(driver.close(4200) == [])
        #expect(driver.greet() == [])
        #expect(driver.session.receiveInvalid("?", at: driver.now) == [])
        #expect(driver.receive(.event(ReceivedEvent(name: "e", channel: "a", data: "1"))) == [])
        #expect(driver.session.status == .disconnected)
        #expect(driver.session.connect().opens)
    }

    @Test func connectsAtOnceWhileWaiting() {
        var driver = SessionDriver.connected()
        #expect(driver.close(1006).delay != nil)
        #expect(
            driver.session.connect() == [
                .status(.connecting(attempt: 2)), .open, .startTimer(.seconds(15)),
            ]
        )
    }

    @Test func timesOutAnAttempt() {
        var driver = SessionDriver()
        _ = driver.session.connect()
        let effects = driver.fire(after: .seconds(15))
        #expect(effects.first == .close(code: 1000, reason: ""))
        let error = FanfareError.connectTimedOut(SessionDriver.endpoint, limit: .seconds(15))
        #expect(effects.last == effects.delay.map { .status(.waiting(delay: $0, because: error)) })
        #expect(driver.fire(after: .seconds(2)).opens)
    }

    @Test func refusesAnyOtherFirstMessage() {
        let messages: [ServerMessage] = [
            .pong,
            .event(ReceivedEvent(name: "pusher:connection_established", channel: nil, data: "{}")),
            .subscriptionSucceeded(channel: "a", data: "{}"),
            .event(ReceivedEvent(name: "hello", channel: nil, data: nil)),
        ]
        for message in messages {
            var driver = SessionDriver()
            _ = driver.session.connect()
            let effects = driver.receive(message)
            #expect(effects.first == .close(code: 1002, reason: ""))
            #expect(effects.delay != nil)
        }
        var driver = SessionDriver()
        _ = driver.session.connect()
        #expect(driver.session.receiveInvalid("no JSON", at: .zero).delay != nil)
    }

    @Test func answersAPingBeforeTheFirstMessage() {
        var driver = SessionDriver()
        _ = driver.session.connect()
        #expect(driver.receive(.ping) == [.send(.pong)])
    }

    @Test func reportsInvalidMessagesLater() {
        var driver = SessionDriver.connected()
        let effects = driver.session.receiveInvalid("no JSON", at: .zero)
        #expect(effects == [.report(.protocolViolation("no JSON"))])
    }
}

@Suite("Reconnecting by close code") struct SessionReconnectionTests {
    @Test(
        "The reconnections of a thousand clients are spread out, and none is within a second",
        arguments: [UInt16?.none, 1006, 4100]
    )
    func spreads(code: UInt16?) {
        for failures in 0..<3 {
            var buckets: [Int: Int] = [:]
            for seed in 0..<1000 {
                var driver = SessionDriver(seed: UInt64(1000 * failures + seed))
                _ = driver.session.connect()
                _ = driver.greet()
                var delay = driver.close(code).delay ?? .zero
                for _ in 0..<failures {
                    _ = driver.fire(after: delay)
                    delay = driver.session.closed(.cut(reason: ""), at: driver.now).delay ?? .zero
                }
                #expect(delay >= .seconds(1))
                buckets[Int(delay / .milliseconds(100)), default: 0] += 1
            }
            #expect(buckets.values.allSatisfy { $0 <= 200 }, "no tenth of a second has a fifth")
        }
    }

    @Test func stopsAfterTheMostAttempts() {
        var driver = SessionDriver { $0.attemptCountMax = 2 }
        _ = driver.session.connect()
        _ = driver.greet()
        var delay = driver.close(1006).delay
        for attempt in 1...2 {
            #expect(delay != nil, "attempt \(attempt) is made")
            _ = driver.fire(after: delay ?? .zero)
            delay = driver.close(1006).delay
        }
        #expect(driver.session.status == .failed(because: .closed(code: 1006, reason: "")))
        #expect(driver.session.connect().opens)
    }

    @Test func doesNotReconnectAfterARefusal() {
        for code in UInt16(4000)...4099 {
            var driver = SessionDriver.connected()
            let effects = driver.close(code, "because")
            #expect(effects.failure == .refused(code: Int(code), message: "because"))
            #expect(effects.contains(.stopTimer))
            #expect(driver.fire(after: .seconds(1000)) == [])
            #expect(driver.session.connect().opens)
        }
    }

    @Test func backsOffForASecondAtLeastWhenTheBrokerIsFull() {
        let eager = Backoff(floor: .zero, window: .zero, cap: .zero)
        for code in UInt16(4100)...4199 {
            var driver = SessionDriver(backoff: eager)
            _ = driver.session.connect()
            _ = driver.greet()
            #expect(driver.close(code).delay == .seconds(1))
        }
    }

    @Test func reconnectsAtOnceByTheCloseCode() {
        for code in UInt16(4200)...4299 {
            var driver = SessionDriver.connected()
            #expect(driver.close(code).opens)
            // Not twice in a row: a broker that accepts and closes must not cause reconnections without a delay.
            _ = driver.greet()
            #expect(driver.close(code).delay != nil)
        }
    }

    @Test func reconnectsAtOnceAgainAfterAStableConnection() {
        var driver = SessionDriver.connected()
        for _ in 0..<5 {
            driver.now += ClientSession.stableAfter
            #expect(driver.close(4200).opens)
            _ = driver.greet()
        }
    }

    @Test func backsOffAfterAllOtherCodes() {
        for code in [UInt16?.none, 1000, 1001, 1002, 1006, 1011, 1013, 3000, 3999, 4300, 4999] {
            var driver = SessionDriver.connected()
            let delay = driver.close(code, "x").delay
            #expect(delay.map { $0 >= .seconds(1) && $0 <= .seconds(2) } == true)
        }
    }

    @Test func backsOffAfterEveryOtherEnd() {
        let closures: [TransportClosure] = [
            .cut(reason: "reset"), .unreachable(reason: "refused"),
            .upgradeRefused(reason: "404"), .protocolViolation("masked"),
            .untrusted(reason: "expired"), .proxyFailed(reason: "407"),
        ]
        for closure in closures {
            var driver = SessionDriver.connected()
            #expect(driver.session.closed(closure, at: .zero).delay != nil)
        }
    }

    @Test func growsTheDelayUpToTheCapAndResetsItAfterAStableConnection() {
        var driver = SessionDriver()
        _ = driver.session.connect()
        for failure in 0..<40 {
            let widest = Duration.seconds(min(1 + (1 << min(failure, 10)), 30))
            let delay = driver.session.closed(.cut(reason: ""), at: driver.now).delay
            #expect(delay.map { $0 >= .seconds(1) && $0 <= widest } == true)
            #expect(driver.fire(after: delay ?? .zero).opens)
        }
        _ = driver.greet()
        driver.now += ClientSession.stableAfter
        let delay = driver.close(nil).delay
        #expect(delay.map { $0 <= .seconds(2) } == true)
    }

    @Test func doesNotReconnectWhenSwitchedOff() {
        var driver = SessionDriver(reconnects: false)
        _ = driver.session.connect()
        let failure = driver.session.closed(.unreachable(reason: "refused"), at: .zero).failure
        #expect(failure == .unreachable(SessionDriver.endpoint, reason: "refused"))
    }

    @Test func usesTheCodeOfAnEarlierError() {
        var driver = SessionDriver()
        _ = driver.session.connect()
        let effects = driver.receive(.error(code: .appDoesNotExist, message: "no such app"))
        #expect(effects.first == .close(code: 1000, reason: ""))
        #expect(effects.failure == .refused(code: 4001, message: "no such app"))

        var full = SessionDriver()
        _ = full.session.connect()
        #expect(full.receive(.error(code: .overCapacity, message: "full")).delay != nil)

        var odd = SessionDriver()
        _ = odd.session.connect()
        #expect(odd.receive(.error(code: PusherCode(rawValue: 7), message: "?")).failure != nil)

        var silent = SessionDriver()
        _ = silent.session.connect()
        #expect(
            silent.receive(.error(code: nil, message: "?"))
                == [.report(.reported(code: nil, message: "?"))]
        )
        #expect(
            silent.close(4009).failure
                == .refused(code: 4009, message: PusherCode.unauthorized.message)
        )
    }

    @Test func takesTheCodeFromTheLastErrorWhenTheCloseHasNone() {
        var driver = SessionDriver.connected(to: ["a"])
        let report = SessionEffect.report(.reported(code: 4009, message: "signed out"))
        #expect(driver.receive(.error(code: .unauthorized, message: "signed out")) == [report])
        #expect(
            driver.session.closed(.cut(reason: "end"), at: .zero).failure
                == .refused(code: 4009, message: "signed out")
        )

        // An error followed by other messages is not the reason for the close.
        var other = SessionDriver.connected(to: ["a"])
        _ = other.receive(.error(code: .unauthorized, message: "signed out"))
        _ = other.receive(.event(ReceivedEvent(name: "e", channel: "a", data: nil)))
        #expect(other.session.closed(.cut(reason: "end"), at: .zero).failure == nil)

        // Codes from 4300 on are only used in messages.
        var limited = SessionDriver.connected()
        _ = limited.receive(.error(code: .clientEventRejected, message: "slow down"))
        #expect(limited.close(nil).delay != nil)
    }
}

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
