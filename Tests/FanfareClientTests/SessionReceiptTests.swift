import PusherProtocol
import Testing

@testable import FanfareClient

@Suite("Receipts of a session's client events") struct SessionReceiptTests {
    private let channel = "private-a"

    /// Connects a driver, and subscribes it to the channel.
    private func join(_ driver: inout SessionDriver, receipts: Bool = true) -> [SessionEffect] {
        _ = driver.session.connect()
        let greeting = ServerMessage.connectionEstablished(
            socketID: SocketID(1, 2),
            activityTimeout: 120,
            receipts: receipts
        )
        let tickets =
            driver.receive(greeting).tickets + driver.session.subscribe(to: channel).tickets
        _ = driver.session.authorized(tickets[0], .success(ChannelAuthorization(auth: "a")))
        return driver.receive(.subscriptionSucceeded(channel: channel, data: "{}"))
    }

    private func joined(receipts: Bool = true) -> SessionDriver {
        var driver = SessionDriver { $0.authorizes = true }
        _ = join(&driver, receipts: receipts)
        return driver
    }

    private func trigger(_ key: String, _ driver: inout SessionDriver) throws -> [SessionEffect] {
        try driver.session.trigger(
            "client-\(key)",
            on: channel,
            json: [0x31],
            key: IdempotencyKey(key),
            at: driver.now
        ).effects
    }

    @Test("An event is accepted when its receipt arrives, not when it is written")
    func accepts() throws {
        var driver = joined()
        let effects = try trigger("a", &driver)
        #expect(effects.keys == ["a"] && effects.settled.isEmpty)
        #expect(driver.receive(.receipt(channel: "private-b", key: "a")) == [])
        #expect(driver.receive(.receipt(channel: channel, key: "b")) == [])
        let receipt = ServerMessage.receipt(channel: channel, key: "a")
        #expect(driver.receive(receipt) == [.settled(key: "a", .success(.accepted))])
        #expect(driver.receive(receipt) == [])
    }

    @Test("Without receipts, events have no key, are sent when they are written, and never again")
    func withoutReceipts() throws {
        var driver = joined(receipts: false)
        let effects = try trigger("a", &driver)
        #expect(effects.keys == [nil])
        #expect(effects.contains(.settled(key: "a", .success(.sent))))
        _ = driver.close(1006)
        #expect(join(&driver).keys == [])
    }

    @Test("An event without a receipt is sent three times on a connection, then it is dropped")
    func givesUp() throws {
        var driver = joined()
        let alarm = SessionEffect.startAlarm(.receipts, .seconds(10))
        #expect(try trigger("a", &driver).contains(alarm))
        for _ in 2...3 {
            driver.now += .seconds(10)
            let effects = driver.session.alarmFired(.receipts, at: driver.now)
            #expect(effects.keys == ["a"] && effects.contains(alarm))
        }
        driver.now += .seconds(10)
        let effects = driver.session.alarmFired(.receipts, at: driver.now)
        #expect(effects.keys == [] && !effects.contains(alarm))
        #expect(effects.reports.map(\.code) == [.clientEventsDropped])
        #expect(effects.settled == ["a": false])
    }

    @Test("Events that were sent are dropped with those that wait, and with the reason")
    func drops() throws {
        var driver = joined()
        for key in ["a", "b"] { _ = try trigger(key, &driver) }
        let effects = driver.session.disconnect()
        #expect(effects.settled == ["a": false, "b": false])
        #expect(join(&driver).keys == [])
    }
}

extension [SessionEffect] {
    /// The keys of the sent client events.
    fileprivate var keys: [String?] {
        sent.compactMap { message -> String?? in
            if case .clientEvent(let event) = message { .some(event.key?.text) } else { nil }
        }
    }

    /// The events whose outcome is known, by key, and whether they were accepted.
    fileprivate var settled: [String: Bool] {
        var settled: [String: Bool] = [:]
        for case .settled(let key, let outcome) in self {
            if case .success(.accepted) = outcome {
                settled[key] = true
            } else {
                settled[key] = false
            }
        }
        return settled
    }
}
