import PusherProtocol
import Testing

@testable import FanfareClient

@Suite("Positions of a session's channels") struct SessionPositionTests {
    private let channel = "private-a"

    /// Greets a driver on a new connection, and lets the backend authorise its channel.
    private func connect(
        _ driver: inout SessionDriver,
        as number: UInt64,
        receipts: Bool = true
    ) -> [SessionEffect] {
        if driver.session.phase == .waiting { _ = driver.fire(after: .seconds(60)) }
        let effects = driver.receive(
            .connectionEstablished(
                socketID: SocketID(number, 1),
                activityTimeout: 120,
                receipts: receipts
            )
        )
        return authorize(effects, &driver)
    }

    private func authorize(
        _ effects: [SessionEffect],
        _ driver: inout SessionDriver
    ) -> [SessionEffect] {
        effects
            + effects.tickets.flatMap {
                driver.session.authorized($0, .success(ChannelAuthorization(auth: "a")))
            }
    }

    private func confirm(_ data: String, _ driver: inout SessionDriver) -> [SessionEffect] {
        driver.receive(.subscriptionSucceeded(channel: channel, data: data))
    }

    private func event(_ serial: UInt64?, _ driver: inout SessionDriver) -> [SessionEffect] {
        let event = ReceivedEvent(name: "e", channel: channel, data: "1", serial: serial)
        return driver.receive(.event(event))
    }

    private func position(_ serial: UInt64) -> ChannelPosition {
        ChannelPosition(stream: "s1", serial: serial)
    }

    private func acknowledgement(_ serial: Int, replay: Int) -> String {
        #"{"position":{"stream":"s1","serial":\#(serial)},"recovered":true,"replay":\#(replay)}"#
    }

    /// A driver that is subscribed at 41.
    private func subscribed() -> SessionDriver {
        var driver = SessionDriver {
            $0.authorizes = true
            $0.authenticates = true
        }
        _ = driver.session.connect()
        _ = driver.session.subscribe(to: channel)
        _ = connect(&driver, as: 1)
        _ = confirm(#"{"position":{"stream":"s1","serial":41}}"#, &driver)
        return driver
    }

    // MARK: Requests

    @Test("The first subscription has no position, later ones the received one and its connection")
    func requests() throws {
        var driver = SessionDriver { $0.authorizes = true }
        _ = driver.session.connect()
        _ = driver.session.subscribe(to: channel)
        #expect(connect(&driver, as: 1).positions == [PositionRequest()])
        let began = confirm(#"{"position":{"stream":"s1","serial":41}}"#, &driver)
        #expect(
            began.contains(.continuity(channel: channel, .began, at: position(41)))
        )
        #expect(event(42, &driver).contains(.deliver(delivered, at: position(42))))
        for number in 2...4 as ClosedRange<UInt64> {
            _ = driver.close(1006)
            let wire = PusherProtocol.ChannelPosition(
                stream: try #require(StreamID("s1")),
                serial: 42
            )
            let request = PositionRequest(wire, formerSocketID: SocketID(number - 1, 1))
            #expect(connect(&driver, as: number).positions == [request])
            let effects = confirm(acknowledgement(42, replay: 0), &driver)
            let resumed = SessionEffect.continuity(
                channel: channel,
                .resumed(replayed: 0),
                at: position(42)
            )
            #expect(effects.contains(resumed))
            #expect(effects.contains(.recovered(channel: channel, count: 0)))
            #expect(effects.gaps == [])
        }
    }

    private var delivered: ChannelEvent { ChannelEvent(name: "e", channel: channel, data: "1") }

    // MARK: Events

    @Test("A hole is reported, and the channel subscribed again from the position")
    func holes() throws {
        var driver = subscribed()
        let effects = event(44, &driver)
        #expect(effects.reports.map(\.code) == [.protocolViolation])
        #expect(effects.sent.first == .unsubscribe(channel: channel))
        #expect(effects.tickets == [] && effects.positions.map(\.position?.serial) == [41])
        // What the former subscription still delivers comes again with the new one.
        for serial in 45...46 as ClosedRange<UInt64> { #expect(event(serial, &driver) == []) }
        #expect(confirm(acknowledgement(41, replay: 5), &driver).gaps == [])
        for serial in 42...45 as ClosedRange<UInt64> {
            #expect(event(serial, &driver) == [.deliver(delivered, at: position(serial))])
        }
        #expect(event(46, &driver).last == .recovered(channel: channel, count: 5))
    }

    @Test("A number without an event moves the position, and has holes as events do")
    func positions() {
        var driver = subscribed()
        let frame = { ServerMessage.position(channel: "private-a", serial: $0, key: nil) }
        #expect(driver.receive(frame(42)) == [.pass(channel: channel, position(42))])
        #expect(driver.receive(frame(42)) == [])
        #expect(driver.receive(frame(nil)) == [])
        #expect(event(43, &driver).delivered == ["e"])
        #expect(driver.receive(frame(45)).sent.first == .unsubscribe(channel: channel))
    }

    @Test("A broker without positions is told as such, with a gap from the second time on")
    func otherBrokers() {
        var driver = subscribed()
        for number in 2...3 as ClosedRange<UInt64> {
            _ = driver.close(1006)
            _ = connect(&driver, as: number)
            let effects = confirm("{}", &driver)
            #expect(effects.contains(.continuity(channel: channel, .unknown)))
            #expect(effects.gaps == [Gap(.brokerHasNoHistory)])
            #expect(event(nil, &driver) == [.deliver(delivered)])
        }
    }

    // MARK: Client events

    @Test(
        "Client events wait until what was missed has arrived, and are sent again without a receipt"
    )
    func clientEvents() throws {
        var driver = subscribed()
        _ = try driver.session.trigger(
            "client-a",
            on: channel,
            json: Array("1".utf8),
            key: IdempotencyKey("a"),
            at: driver.now
        )
        _ = driver.close(1006)
        _ = connect(&driver, as: 2)
        #expect(confirm(acknowledgement(41, replay: 2), &driver).sent == [])
        // The event had its place: its number is replayed in its place, without its key.
        let number = ServerMessage.position(channel: channel, serial: 42, key: nil)
        #expect(driver.receive(number) == [.pass(channel: channel, position(42))])
        let effects = event(43, &driver)
        #expect(effects.contains(.recovered(channel: channel, count: 2)))
        #expect(effects.sent.count == 1)
        // The broker knows the key, and repeats the receipt.
        let receipt = ServerMessage.position(channel: channel, serial: nil, key: "a")
        #expect(driver.receive(receipt) == [.settled(key: "a", .success(.accepted))])
    }

    @Test("A receipt moves the position") func receipts() throws {
        var driver = subscribed()
        _ = try driver.session.trigger(
            "client-a",
            on: channel,
            json: Array("1".utf8),
            key: IdempotencyKey("a"),
            at: driver.now
        )
        let receipt = ServerMessage.position(channel: channel, serial: 42, key: "a")
        #expect(
            driver.receive(receipt)
                == [
                    .pass(channel: channel, position(42)),
                    .settled(key: "a", .success(.accepted)),
                ]
        )
        #expect(event(43, &driver).delivered == ["e"])
    }

    // MARK: Users

    @Test(
        "A user's channel goes on for the same user, and begins for another one",
        arguments: ["ann", "bob"]
    )
    func users(second: String) {
        var driver = SessionDriver { $0.authenticates = true }
        _ = driver.session.connect()
        var effects = driver.session.startSigningIn()
        for (number, user) in [(1, "ann"), (2, second)] as [(UInt64, String)] {
            if number > 1 { _ = driver.fire(after: .seconds(60)) }
            effects = driver.receive(
                .connectionEstablished(socketID: SocketID(number, 1), activityTimeout: 120)
            )
            let data = #"{"id":"\#(user)"}"#
            let authentication = UserAuthentication(auth: "a", userData: data)
            _ = driver.session.authenticated(effects.tickets[0], .success(authentication))
            effects = driver.receive(.signinSuccess(userData: data))
            let isAgain = number > 1 && user == "ann"
            #expect(effects.positions.map(\.position?.serial) == [isAgain ? 41 : nil])
            effects = driver.receive(
                .subscriptionSucceeded(
                    channel: "#server-to-user-\(user)",
                    data: isAgain
                        ? acknowledgement(41, replay: 0)
                        : #"{"position":{"stream":"s1","serial":41}}"#
                )
            )
            let gaps = effects.filter {
                if case .gap(channel: Topic.user, _) = $0 { true } else { false }
            }
            #expect(gaps.count == (number > 1 && !isAgain ? 1 : 0))
            _ = driver.close(1006)
        }
    }

    // MARK: Stored positions

    @Test("Subscriptions wait for the stored positions, and begin at them")
    func storedPositions() {
        var driver = SessionDriver { $0.authorizes = true }
        driver.session.awaitsPositions = true
        _ = driver.session.connect()
        for name in ["a", "b", "c"] { _ = driver.session.subscribe(to: name) }
        _ = driver.session.subscribe(to: "d", from: ChannelTracking(from: position(9)))
        #expect(connect(&driver, as: 1).sent == [])
        let stored = ["b": position(5), "d": position(6), "e": position(7)]
        let serials = driver.session.restore(stored).positions.map(\.position?.serial)
        #expect(serials == [nil, 5, nil, 9])
        #expect(driver.session.restore(stored) == [])
        #expect(driver.session.subscribe(to: "e").positions.map(\.position?.serial) == [7])
    }
}
