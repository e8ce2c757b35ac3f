import PusherProtocol
import Testing

@testable import FanfareClient

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
        driver.now += ReconnectionPolicy.stableAfter
        let delay = driver.close(nil).delay
        #expect(delay.map { $0 <= .seconds(2) } == true)
    }

    @Test func doesNotReconnectWhenSwitchedOff() {
        var driver = SessionDriver(attemptCountMax: 0)
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
