import PusherProtocol
import Testing

@testable import FanfareClient

@Suite("The suspension of a session") struct SessionSuspensionTests {
    private let close = SessionEffect.close(code: 1000, reason: "")
    private let suspended: [SessionEffect] = [.stopTimer, .status(.suspended)]

    @Test func suspendsFromEveryState() {
        var fresh = SessionDriver()
        #expect(fresh.session.suspend() == [])
        #expect(fresh.session.status == .disconnected)

        var opening = SessionDriver()
        _ = opening.session.connect()
        #expect(opening.session.suspend() == [close] + suspended)
        #expect(opening.session.suspend() == [])

        var connected = SessionDriver.connected()
        #expect(connected.session.suspend() == [close] + suspended)

        var waiting = SessionDriver.connected()
        _ = waiting.close(1006)
        #expect(waiting.session.suspend() == suspended)

        var failed = SessionDriver.connected()
        let failure = failed.close(4001).failure
        #expect(failed.session.suspend() == [])
        #expect(failed.session.status == failure.map { .failed(because: $0) })
    }

    @Test func staysSuspendedAfterAnyInput() {
        var driver = SessionDriver.connected(to: ["a"])
        _ = driver.session.suspend()
        #expect(driver.fire(after: .seconds(1000)) == [])
        #expect(driver.close(4001) == [])
        #expect(driver.greet() == [])
        #expect(driver.receive(.event(ReceivedEvent(name: "e", channel: "a", data: "1"))) == [])
        #expect(driver.session.checkConnection(within: .seconds(5), at: driver.now) == [])
        #expect(driver.session.status == .suspended)
    }

    @Test("Subscriptions stay, and a gap is reported behind the next connection")
    func keepsSubscriptions() {
        var driver = SessionDriver.connected(to: ["a"])
        _ = driver.session.suspend()
        #expect(driver.session.subscription(to: "a") == .wanted)
        #expect(driver.session.connect().first == .status(.connecting(attempt: 1)))
        #expect(driver.greet().last == .send(.subscribe("a")))
        let effects = driver.receive(.subscriptionSucceeded(channel: "a", data: "{}"))
        #expect(effects.contains(.gap(channel: "a", Gap(.brokerHasNoHistory))))
    }

    @Test("Member lists and queued client events stay")
    func keepsMembersAndQueuedEvents() throws {
        var driver = SessionDriver.authorized()
        let channel = "presence-a"
        func join() -> [SessionEffect] {
            let ticket =
                driver.session.subscription(to: channel) == nil
                ? driver.session.subscribe(to: channel).tickets[0] : driver.greet().tickets[0]
            let authorization = ChannelAuthorization(auth: "k:s", channelData: #"{"user_id":"1"}"#)
            _ = driver.session.authorized(ticket, .success(authorization))
            let data = #"{"presence":{"hash":{"1":null,"2":null}}}"#
            return driver.receive(.subscriptionSucceeded(channel: channel, data: data))
        }
        _ = join()
        let effects = driver.session.suspend()
        #expect(effects.reports == [])
        _ = try driver.session.trigger("client-e", on: channel, json: [0x31], at: .zero)
        #expect(driver.session.subscriptions[of: channel]?.roster?.members.count == 2)
        _ = driver.session.connect()
        #expect(join().sent.count == 1)
    }

    @Test("A sign-in is repeated on the next connection")
    func signsInAgain() {
        var driver = SessionDriver.authorized()
        #expect(driver.session.startSigningIn().tickets.count == 1)
        #expect(driver.session.suspend().contains(.cancel(tickets: [1])))
        _ = driver.session.connect()
        #expect(driver.greet().tickets.count == 1)
    }

    @Test("A suspended session can be disconnected, which drops what it has kept")
    func disconnects() throws {
        var driver = SessionDriver.authorized()
        _ = driver.session.subscribe(to: "private-a")
        _ = driver.session.suspend()
        _ = try driver.session.trigger("client-e", on: "private-a", json: [0x31], at: .zero)
        let effects = driver.session.disconnect()
        #expect(effects.last == .status(.disconnected))
        #expect(effects.reports.map(\.code) == [.clientEventsDropped])
        #expect(driver.session.status == .disconnected)
        #expect(driver.session.disconnect() == [])
    }
}

@Suite("The check of a session's connection") struct SessionCheckTests {
    private func check(_ driver: inout SessionDriver, within seconds: Int = 5) -> [SessionEffect] {
        driver.session.checkConnection(within: .seconds(seconds), at: driver.now)
    }

    @Test func pingsAndWaitsForTheAnswer() {
        var driver = SessionDriver.connected()
        driver.now = .seconds(10)
        #expect(check(&driver) == [.send(.ping), .startTimer(.seconds(5))])
        driver.now += .seconds(1)
        #expect(driver.receive(.pong) == [])
        // The timer goes on with the normal times.
        #expect(driver.fire(after: .seconds(4)) == [.startTimer(.seconds(116))])
    }

    @Test func reconnectsWithoutAnAnswer() {
        var driver = SessionDriver.connected()
        _ = check(&driver)
        let effects = driver.fire(after: .seconds(5))
        #expect(effects.first == .close(code: 1000, reason: ""))
        let error = FanfareError.pingUnanswered(limit: .seconds(5))
        #expect(effects.last == effects.delay.map { .status(.waiting(delay: $0, because: error)) })
    }

    @Test("An earlier ping counts with the shorter of both limits")
    func shortensAPingUnderWay() {
        var regular = SessionDriver.connected()
        _ = regular.fire(after: .seconds(120))
        #expect(check(&regular) == [.send(.ping), .startTimer(.seconds(5))])
        #expect(regular.fire(after: .seconds(5)).delay != nil)

        var checked = SessionDriver.connected()
        #expect(check(&checked).sent == [.ping])
        #expect(check(&checked, within: 60) == [])
        checked.now += .seconds(3)
        // Repeated checks do not postpone the first one's end.
        #expect(check(&checked) == [])
        #expect(checked.fire(after: .seconds(2)).delay != nil)
    }

    @Test func endsTheWaitForTheNextAttempt() {
        var driver = SessionDriver.connected()
        _ = driver.close(1006)
        #expect(check(&driver).opens)
        // An attempt under way has a limit of its own.
        #expect(check(&driver) == [])
    }

    @Test func doesNothingWithoutAConnection() {
        var fresh = SessionDriver()
        #expect(check(&fresh) == [])
        var failed = SessionDriver.connected()
        _ = failed.close(4001)
        #expect(check(&failed) == [])
    }

    @Test func doesNothingWhileReadingIsPaused() {
        var driver = SessionDriver.connected()
        driver.session.setReading(false, at: .zero)
        #expect(check(&driver) == [])
    }
}
