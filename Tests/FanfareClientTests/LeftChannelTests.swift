import FanfareTesting
import PusherProtocol
import Testing

@testable import FanfareClient

@Suite("Channels that the app leaves and subscribes again") struct LeftChannelTests {
    private static func position(_ serial: UInt64) -> ChannelPosition {
        ChannelDriver.position(serial)
    }

    /// A driver that is subscribed, has received the events up to 42 and has left the channel.
    private func left(
        change: (inout ClientSession.Settings) -> Void = { _ in }
    ) -> ChannelDriver {
        var driver = ChannelDriver(change: change)
        _ = driver.subscribe()
        _ = driver.confirm(at: 41)
        _ = driver.event(42)
        _ = driver.unsubscribe()
        return driver
    }

    private func serials(_ effects: [SessionEffect]) -> [UInt64?] {
        effects.positions.map(\.position?.serial)
    }

    @Test("Within the grace a subscription goes on with its signature, and tells what it recovered")
    func goesOn() {
        var driver = left()
        driver.driver.now += .seconds(29)
        let request = driver.subscribe().positions
        #expect(request.map(\.position?.serial) == [42])
        #expect(request.map(\.formerSocketID) == [SocketID(123, 456)])
        #expect(driver.requestCount == 1)
        let effects = driver.confirm(at: 42, replay: 2)
        let resumed = SessionEffect.continuity(
            channel: driver.channel,
            .resumed(replayed: 2),
            at: Self.position(42)
        )
        #expect(effects.contains(resumed))
        #expect(driver.event(43).delivered == ["e"])
        #expect(driver.event(44).last == .recovered(channel: driver.channel, count: 2))
    }

    @Test("Over a reconnect it goes on as well, with a new signature")
    func goesOnOnAnotherConnection() {
        var driver = left()
        #expect(driver.reconnect(as: 2).sent == [])
        let request = driver.subscribe().positions
        #expect(request.map(\.position?.serial) == [42])
        #expect(request.map(\.formerSocketID) == [SocketID(123, 456)])
        #expect(driver.requestCount == 2)
    }

    @Test("It begins anew after the grace, or if the app asks for that", arguments: [true, false])
    func beginsAnew(fresh: Bool) {
        var driver = left()
        if !fresh { driver.driver.now += .seconds(30) }
        let effects = driver.subscribe(fresh: fresh)
        #expect(serials(effects) == [nil])
        #expect(effects.contains(.forget(channel: driver.channel)))
        #expect(driver.requestCount == 2)
        #expect(
            driver.confirm(at: 50)
                .contains(.continuity(channel: driver.channel, .began, at: Self.position(50)))
        )
    }

    @Test("A grace of zero keeps nothing") func zero() {
        var driver = left { $0.resubscribeGrace = .zero }
        #expect(serials(driver.subscribe()) == [nil])
        #expect(driver.requestCount == 2)
    }

    @Test("The app's position precedes the kept one, which precedes a stored one and a rewind")
    func precedence() {
        var driver = left()
        driver.driver.session.storedPositions[driver.channel] = Self.position(9)
        #expect(serials(driver.subscribe(from: Self.position(7))) == [7])
        #expect(driver.requestCount == 1)
        driver = left()
        driver.driver.session.storedPositions[driver.channel] = Self.position(9)
        #expect(serials(driver.subscribe(rewind: .count(3))) == [42])
        driver = left()
        driver.driver.session.storedPositions[driver.channel] = Self.position(9)
        _ = driver.unsubscribe(after: .seconds(60))
        #expect(serials(driver.subscribe(rewind: .count(3))) == [9])
        _ = driver.confirm(at: 9, replay: 0)
        _ = driver.unsubscribe()
        #expect(serials(driver.subscribe(fresh: true)) == [nil])
    }

    @Test("A channel that is left while it is pending goes on after the answer in flight")
    func pending() {
        var driver = left()
        _ = driver.subscribe()
        _ = driver.unsubscribe()
        #expect(driver.subscribe().sent == [])
        let effects = driver.confirm(at: 42, replay: 0)
        #expect(effects.sent.first == .unsubscribe(channel: driver.channel))
        #expect(serials(effects) == [42])
        #expect(driver.requestCount == 1)
        // Begun anew, it does not take the answer to the request from a position.
        _ = driver.unsubscribe()
        #expect(driver.subscribe(fresh: true).sent == [])
        let answered = driver.act { [channel = driver.channel] session, now in
            let data = #"{"position":{"stream":"s1","serial":42},"recovered":true,"replay":0}"#
            return session.receive(
                .subscriptionSucceeded(channel: channel, data: data),
                at: now
            )
        }
        #expect(serials(answered) == [nil])
        #expect(driver.requestCount == 2)
    }

    @Test("A signature that the broker has refused is not used again")
    func refusedSignatures() {
        var driver = ChannelDriver()
        _ = driver.subscribe()
        _ = driver.unsubscribe()
        _ = driver.driver.receive(
            .subscriptionError(channel: driver.channel, type: "AuthError", message: "", status: 401)
        )
        _ = driver.subscribe()
        #expect(driver.requestCount == 2)
    }

    @Test("Events that wait for a key are delivered when the channel is subscribed again")
    func heldEvents() {
        var driver = SessionDriver.authorized { $0.decrypter = ReversingDecrypter() }
        let channel = "private-encrypted-a"
        func join(_ effects: [SessionEffect], key: String) -> [SessionEffect] {
            effects.tickets.flatMap {
                let authorization = ChannelAuthorization(auth: "a", sharedSecret: key)
                return driver.session.authorized($0, .success(authorization))
            }
        }
        func confirm(_ serial: Int, _ rest: String = "") -> [SessionEffect] {
            let data = #"{"position":{"stream":"s1","serial":\#(serial)}\#(rest)}"#
            return driver.receive(.subscriptionSucceeded(channel: channel, data: data))
        }
        _ = join(driver.session.subscribe(to: channel), key: "old")
        _ = confirm(1)
        let data = "new:olleh"
        let event = ReceivedEvent(name: "e", channel: channel, data: data, serial: 2)
        #expect(driver.receive(.event(event)).delivered == [])
        _ = driver.session.unsubscribe(from: channel)
        let effects = join(driver.session.subscribe(to: channel), key: "new")
        #expect(serials(effects) == [2])
        let opened = ChannelEvent(name: "e", channel: channel, data: "hello")
        #expect(
            confirm(2, #","recovered":true,"replay":0"#)
                .contains(.deliver(opened, at: Self.position(2)))
        )
    }

    @Test("The oldest of many channels is dropped")
    func bound() {
        var driver = SessionDriver.connected()
        func leave(_ channel: String) -> [SessionEffect] {
            driver.now += .milliseconds(1)
            _ = driver.session.subscribe(to: channel, at: driver.now)
            let data = #"{"position":{"stream":"s1","serial":1}}"#
            _ = driver.receive(.subscriptionSucceeded(channel: channel, data: data))
            return driver.session.unsubscribe(from: channel, at: driver.now)
        }
        for number in 1...Subscriptions.leftCountMax {
            #expect(!leave("\(number)").contains { if case .forget = $0 { true } else { false } })
        }
        #expect(leave("last").contains(.forget(channel: "1")))
        #expect(serials(driver.session.subscribe(to: "1", at: driver.now)) == [nil])
        #expect(serials(driver.session.subscribe(to: "2", at: driver.now)) == [1])
    }

    @Test("The app's position of the channel is back with the subscription")
    func handledPositions() async throws {
        let broker = ScriptedBroker()
        let client = broker.client()
        let channel = client.channel("room").subscribe()
        let seen = Seen<String>()
        channel.bind("e") { seen.add($0.data ?? "") }
        client.connect()
        try await channel.waitUntilSubscribed()
        try broker.trigger("e", on: ["room"], text: "1")
        try await broker.settle()
        channel.unsubscribe()
        #expect(channel.position == nil)
        try broker.trigger("e", on: ["room"], text: "2")
        channel.subscribe()
        #expect(channel.position?.serial == 1)
        await seen.wait(for: 2)
        #expect(seen.all == ["1", "2"])
        client.disconnect()
    }
}
