import FanfareTesting
import PusherProtocol
import Testing

@testable import FanfareClient

@Suite("Subscriptions that fail for now") struct SessionPostponingTests {
    private let channel = "private-a"
    private let signed = ChannelAuthorization(auth: "k:s")
    private let away = AuthorizationFailure.unreachable("connection refused")

    private func driver(window: Duration = .zero) -> SessionDriver {
        SessionDriver.authorized {
            $0.backoff = Backoff(floor: .seconds(1), window: window, cap: .seconds(30))
        }
    }

    private func alarm(_ effects: [SessionEffect]) -> Duration? {
        for case .startAlarm(.subscription(channel), let delay) in effects { return delay }
        return nil
    }

    @Test(
        "A failure that passes is tried again after a delay, on the same connection",
        arguments: [
            AuthorizationFailure.unreachable("refused"), .timedOut(after: .seconds(10)),
            .failed("Offline()"), .refused(status: 500, body: ""), .refused(status: 503, body: ""),
            .refused(status: 429, body: ""), .refused(status: 408, body: ""),
        ]
    )
    func postpones(failure: AuthorizationFailure) throws {
        var driver = driver()
        let ticket = driver.session.subscribe(to: channel).tickets[0]
        let error = FanfareError.authorizationFailed(channel: channel, failure)
        #expect(
            driver.session.authorized(ticket, .failure(failure)) == [
                .startAlarm(.subscription(channel), .seconds(1)),
                .postponed(channel: channel, error),
            ]
        )
        #expect(error.description.contains("The client tries again after a delay"))
        #expect(driver.session.subscription(to: channel) == .postponed)
        let again = driver.session.alarmFired(.subscription(channel), at: .seconds(1)).tickets
        try #require(again.count == 1 && again != [ticket])
        #expect(driver.session.authorized(again[0], .success(signed)).sent.count == 1)
        _ = driver.receive(.subscriptionSucceeded(channel: channel, data: "{}"))
        #expect(driver.session.subscription(to: channel) == .subscribed)
        #expect(driver.session.alarmFired(.subscription(channel), at: .seconds(9)) == [])
    }

    @Test(
        "A refusal is final until the next connection",
        arguments: [
            AuthorizationFailure.refused(status: 403, body: ""), .refused(status: 401, body: ""),
            .refused(status: 404, body: ""), .malformed("no auth"), .invalidEndpoint("x"),
        ]
    )
    func refuses(failure: AuthorizationFailure) {
        var driver = driver()
        let ticket = driver.session.subscribe(to: channel).tickets[0]
        let effects = driver.session.authorized(ticket, .failure(failure))
        #expect(effects.refusals.count == 1 && alarm(effects) == nil)
        #expect(driver.session.subscription(to: channel) == .refused)
    }

    @Test(
        "The broker's refusals by overload are postponed too",
        arguments: [
            (nil, false), (401, false), (403, false), (413, false), (429, true), (500, true),
            (503, true),
        ]
    )
    func followsTheBrokersStatus(status: Int?, isPostponed: Bool) {
        var driver = driver()
        _ = driver.session.subscribe(to: "a")
        let effects = driver.receive(
            .subscriptionError(channel: "a", type: "Overload", message: "no", status: status ?? 0)
        )
        #expect(effects.delivered == ["pusher:subscription_error"])
        #expect(effects.refusals.isEmpty == isPostponed)
        guard isPostponed else { return }
        guard case .postponed("a", let error)? = effects.last else {
            Issue.record("\(effects)")
            return
        }
        #expect(error.status == status && error.code == .subscriptionRefused)
        #expect(error.description.contains("The client tries again after a delay"))
        let again = driver.session.alarmFired(.subscription("a"), at: .seconds(1))
        #expect(again.sent == [.subscribe("a")])
    }

    @Test("The delay grows with each failure in a row, and starts anew after a success")
    func backsOff() {
        var driver = driver(window: .seconds(1))
        var ticket = driver.session.subscribe(to: channel).tickets[0]
        var now = Duration.zero
        for failure in 0..<12 {
            let effects = driver.session.authorized(ticket, .failure(away))
            guard let delay = alarm(effects) else {
                Issue.record("\(effects)")
                return
            }
            #expect(delay >= .seconds(1) && delay <= .seconds(min(1 + (1 << failure), 30)))
            now += delay
            ticket = driver.session.alarmFired(.subscription(channel), at: now).tickets[0]
        }
        _ = driver.session.authorized(ticket, .success(signed))
        _ = driver.receive(.subscriptionSucceeded(channel: channel, data: "{}"))
        #expect(driver.session.subscriptions[of: channel]?.failures == 0)
    }

    @Test("Every way out of the state stops the alarm")
    func stopsTheAlarm() {
        func postponed() -> SessionDriver {
            var driver = driver()
            let ticket = driver.session.subscribe(to: channel).tickets[0]
            _ = driver.session.authorized(ticket, .failure(away))
            return driver
        }
        let stop = SessionEffect.stopAlarm(.subscription(channel))
        var left = postponed()
        #expect(left.session.unsubscribe(from: channel).first == stop)
        #expect(left.session.alarmFired(.subscription(channel), at: .seconds(9)) == [])

        var repeated = postponed()
        let effects = repeated.session.subscribe(to: channel)
        #expect(effects.first == stop && effects.tickets.count == 1)

        var lost = postponed()
        #expect(lost.close(4200).first == stop)
        #expect(lost.greet().tickets.count == 1)

        var suspended = postponed()
        #expect(suspended.session.suspend().contains(stop))
        var disconnected = postponed()
        #expect(disconnected.session.disconnect().contains(stop))
    }

    @Test("Queued client events wait for the next attempt")
    func keepsClientEvents() throws {
        var driver = driver()
        let ticket = driver.session.subscribe(to: channel).tickets[0]
        _ = try driver.session.trigger("client-e", on: channel, json: [0x31], at: .zero)
        #expect(driver.session.authorized(ticket, .failure(away)).reports == [])
        _ = try driver.session.trigger("client-e", on: channel, json: [0x32], at: .zero)
        let again = driver.session.alarmFired(.subscription(channel), at: .seconds(1)).tickets
        _ = driver.session.authorized(again[0], .success(signed))
        let effects = driver.receive(.subscriptionSucceeded(channel: channel, data: "{}"))
        #expect(effects.sent.count == 2)
    }

    @Test("A passed signature is used again on its connection, and no longer on the next one")
    func keepsAPassedSignature() {
        var driver = SessionDriver.connected()
        let message = driver.session.subscribe(to: channel, with: signed).sent
        #expect(message.count == 1)
        _ = driver.receive(
            .subscriptionError(channel: channel, type: "Overload", message: "", status: 503)
        )
        let again = driver.session.alarmFired(.subscription(channel), at: .seconds(1))
        #expect(again.sent == message && again.refusals == [])
        _ = driver.close(4200)
        #expect(
            driver.greet().refusals.map(\.reason) == [AuthorizationFailure.outdated.description]
        )
    }
}

@Suite("A client whose backend is away", .timeLimit(.minutes(1)))
struct PostponedSubscriptionTests {
    /// A bench whose backend fails a number of times before it signs.
    private func bench(
        failing count: Int,
        with failure: any Error & Sendable,
        _ attempts: Seen<Int>
    ) -> Bench {
        Bench {
            $0.reconnection.backoff = Backoff(floor: .seconds(3), window: .zero, cap: .seconds(3))
            $0.authorization.attemptCountMax = 1
            $0.authorization.channels = ChannelAuthorizer { _, _ in
                attempts.add(1)
                if attempts.all.count <= count { throw failure }
                return ChannelAuthorization(auth: "k:s")
            }
        }
    }

    @Test("Sequences go on, tasks that wait throw, and the error is reported each time")
    func goesOn() async throws {
        let (attempts, errors) = (Seen<Int>(), Seen<FanfareError>())
        let failure = AuthorizationFailure.refused(status: 502, body: "")
        let bench = bench(failing: 5, with: failure, attempts)
        bench.client.onError { errors.add($0) }
        let channel = bench.client.channel("private-a")
        var events = channel.subscription().deliveries("e").makeAsyncIterator()
        let waiting = Task { try await channel.waitUntilSubscribed() }
        await eventually("a waiting task") { bench.client.hasWaiters(for: "private-a") }
        bench.client.connect()
        let connection = await bench.transport.greet()
        let error = FanfareError.authorizationFailed(channel: "private-a", failure)
        await #expect(throws: error) { try await waiting.value }
        for _ in 0..<5 {
            try await bench.clock.waitForSleep(of: .seconds(3))
            bench.clock.advance(by: .seconds(3))
        }
        guard case .send(.subscribe("private-a", _, _, _)) = await connection.next() else {
            Issue.record("the channel should be subscribed")
            return
        }
        connection.deliver(.subscriptionSucceeded(channel: "private-a", data: "{}"))
        connection.event("e", "private-a", "1")
        #expect(try await events.event()?.data == "1")
        await errors.wait(for: 5)
        #expect(errors.all == Array(repeating: error, count: 5))
        #expect(attempts.all.count == 6)
    }

    @Test("A closure's own error passes; a task that waits later waits for the next attempt")
    func waitsForTheNextAttempt() async throws {
        struct Offline: Error {}
        let attempts = Seen<Int>()
        let bench = bench(failing: 1, with: Offline(), attempts)
        let channel = bench.client.subscribe("private-a")
        bench.client.connect()
        let connection = await bench.transport.greet()
        try await bench.clock.waitForSleep(of: .seconds(3))
        let waiting = Task { try await channel.waitUntilSubscribed() }
        await eventually("a waiting task") { bench.client.hasWaiters(for: "private-a") }
        bench.clock.advance(by: .seconds(3))
        _ = await connection.next()
        connection.deliver(.subscriptionSucceeded(channel: "private-a", data: "{}"))
        try await waiting.value
    }
}
