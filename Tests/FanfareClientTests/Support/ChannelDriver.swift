import PusherProtocol

@testable import FanfareClient

/// A connected session with one private channel of a broker that numbers its events.
struct ChannelDriver {
    let channel = "private-a"
    var driver: SessionDriver
    /// The number of authorization requests.
    private(set) var requestCount = 0

    init(change: (inout ClientSession.Settings) -> Void = { _ in }) {
        driver = SessionDriver.authorized(change)
    }

    static func position(_ serial: UInt64, _ stream: String = "s1") -> ChannelPosition {
        ChannelPosition(stream: stream, serial: serial)
    }

    /// Performs an input at the driver's time, and authorizes what it requests.
    mutating func act(
        _ input: (inout ClientSession, Duration) -> [SessionEffect]
    ) -> [SessionEffect] {
        let effects = input(&driver.session, driver.now)
        let tickets = effects.tickets
        requestCount += tickets.count
        return effects
            + tickets.flatMap {
                let authorization = ChannelAuthorization(auth: "a", sharedSecret: "k")
                return driver.session.authorized($0, .success(authorization))
            }
    }

    mutating func subscribe(
        for lease: Int = LeaseStart.own,
        from position: ChannelPosition? = nil,
        rewind: Rewind? = nil,
        fresh: Bool = false
    ) -> [SessionEffect] {
        let origin = ChannelTracking(origin: position, rewind)
        return act { [channel] in
            $0.subscribe(to: channel, for: lease, from: origin, fresh: fresh, at: $1)
        }
    }

    mutating func unsubscribe(after time: Duration = .zero) -> [SessionEffect] {
        driver.now += time
        return act { [channel] in $0.unsubscribe(from: channel, at: $1) }
    }

    mutating func confirm(_ data: String) -> [SessionEffect] {
        driver.receive(.subscriptionSucceeded(channel: channel, data: data))
    }

    /// Confirms the subscription: new, or with a number of events to be replayed.
    mutating func confirm(at serial: UInt64, replay: Int? = nil) -> [SessionEffect] {
        let position = #""position":{"stream":"s1","serial":\#(serial)}"#
        let replay = replay.map { #","recovered":true,"replay":\#($0)"# } ?? ""
        return confirm("{\(position)\(replay)}")
    }

    mutating func event(_ serial: UInt64) -> [SessionEffect] {
        let data = "\(serial)"
        return driver.receive(
            .event(ReceivedEvent(name: "e", channel: channel, data: data, serial: serial))
        )
    }

    mutating func reconnect(as number: UInt64) -> [SessionEffect] {
        _ = driver.close(1006)
        if driver.session.phase == .waiting { _ = driver.fire(after: .seconds(1)) }
        let message = ServerMessage.connectionEstablished(
            socketID: SocketID(number, 1),
            activityTimeout: 120
        )
        return act { $0.receive(message, at: $1) }
    }
}
