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
