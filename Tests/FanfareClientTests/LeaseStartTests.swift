import FanfareTesting
import PusherProtocol
import Testing

@testable import FanfareClient

@Suite("Starts of leases", .timeLimit(.minutes(1))) struct LeaseStartTests {
    private static func position(_ serial: UInt64, _ stream: String = "s1") -> ChannelPosition {
        ChannelDriver.position(serial, stream)
    }

    /// The starts of later leases on a channel at 100, with the gaps before their events.
    private static let starts: [(start: ChannelPosition?, gap: Gap?)] = [
        (nil, nil), (position(100), nil), (position(150), nil),
        (position(50), Gap(.behind, missed: 50)), (position(150, "s2"), Gap(.unknownStream)),
    ]

    // MARK: The session

    @Test(
        "A later lease does not move the position, and one that is behind is told",
        arguments: 0..<5
    )
    func positionsStay(index: Int) {
        let (start, gap) = Self.starts[index]
        for isLost in [false, true] {
            var driver = ChannelDriver()
            _ = driver.subscribe()
            _ = driver.confirm(at: 100)
            if isLost { _ = driver.driver.close(1006) }
            let effects = driver.subscribe(for: 7, from: start)
            #expect(effects.leaseGaps == (gap.map { ["7 \($0) at 100"] } ?? []))
            #expect(effects.positions == [] && effects.gaps == [])
            #expect(driver.reconnect(as: 2).positions.map(\.position?.serial) == [100])
            let confirmed = driver.confirm(at: 100, replay: 0)
            #expect(confirmed.contains(.recovered(channel: driver.channel, count: 0)))
            #expect(confirmed.gaps == [] && confirmed.leaseGaps == [])
        }
    }

    @Test("While the position is unknown, the broker's answer decides")
    func pending() {
        for isRequested in [true, false] {
            var driver = ChannelDriver()
            if !isRequested { _ = driver.driver.close(1006) }
            _ = driver.subscribe()
            for (index, (start, _)) in Self.starts.enumerated() {
                #expect(driver.subscribe(for: index, from: start).leaseGaps == [])
            }
            if !isRequested { #expect(driver.reconnect(as: 2).positions == [PositionRequest()]) }
            let effects = driver.confirm(at: 100)
            let gaps = Self.starts.enumerated().compactMap { index, start in
                start.gap.map { "\(index) \($0) at 100" }
            }
            #expect(effects.leaseGaps == gaps && effects.gaps == [])
            // They load their state because the subscription is new.
            #expect(
                effects.allSatisfy {
                    if case .leaseGap(_, _, _, false, _) = $0 { false } else { true }
                }
            )
        }
    }

    @Test("A gap of the channel is told once, to all")
    func channelGaps() {
        var driver = ChannelDriver()
        _ = driver.subscribe(from: Self.position(10))
        #expect(
            driver.subscribe(for: 1, from: Self.position(5)).leaseGaps == [
                "1 \(Gap(.behind, missed: 5)) at 10"
            ]
        )
        let effects = driver.confirm(
            #"{"position":{"stream":"s1","serial":100},"recovered":false,"gap":{"reason":"truncated","missed":90}}"#
        )
        #expect(effects.gaps == [Gap(.truncated, missed: 90)] && effects.leaseGaps == [])
    }

    @Test("A stored position is known when it is confirmed")
    func storedPositions() {
        var driver = SessionDriver()
        driver.session.awaitsPositions = true
        _ = driver.session.connect()
        _ = driver.greet()
        _ = driver.session.subscribe(to: "a", at: .zero)
        let origin = ChannelTracking(from: Self.position(50))
        #expect(driver.session.subscribe(to: "a", for: 1, from: origin, at: .zero) == [])
        let effects = driver.session.restore(["a": Self.position(100)])
        #expect(effects.positions.map(\.position?.serial) == [100])
        let data = #"{"position":{"stream":"s1","serial":100},"recovered":true,"replay":0}"#
        let gap = SessionEffect.leaseGap(
            channel: "a",
            lease: 1,
            Gap(.behind, missed: 50),
            at: Self.position(100)
        )
        #expect(
            driver.receive(.subscriptionSucceeded(channel: "a", data: data)).contains(gap)
        )
    }

    @Test("A broker without positions cannot serve a lease with one", arguments: [true, false])
    func otherBrokers(isFirst: Bool) {
        var driver = ChannelDriver()
        let start = Self.position(50)
        _ = driver.subscribe(from: isFirst ? start : nil)
        let effects = driver.confirm("{}")
        #expect(effects.gaps == (isFirst ? [Gap(.brokerHasNoHistory)] : []))
        #expect(
            driver.subscribe(for: 1, from: start).leaseGaps
                == ["1 \(Gap(.brokerHasNoHistory)) at nil"]
        )
    }

    @Test("A channel that was refused begins at the next start")
    func refusals() {
        var driver = ChannelDriver()
        _ = driver.subscribe()
        _ = driver.driver.receive(
            .subscriptionError(channel: driver.channel, type: "AuthError", message: "", status: 401)
        )
        let effects = driver.subscribe(for: 1, from: Self.position(50))
        #expect(effects.positions.map(\.position?.serial) == [50] && effects.leaseGaps == [])
    }

    // MARK: Readers

    /// A broker and a client whose lease has read three events, up to the position.
    private func subscribed(
        _ settings: ScriptedBroker.Settings = ScriptedBroker.Settings()
    ) async throws -> (ScriptedBroker, Channel, ChannelPosition, Reader) {
        let broker = ScriptedBroker(settings)
        let channel = broker.client().channel("room")
        var reader = Reader(channel.subscription())
        channel.client.connect()
        try await channel.waitUntilSubscribed()
        try trigger(1...3, broker)
        #expect(try await reader.read(3) == ["1", "2", "3"])
        await eventually("the position") { channel.position?.serial == 3 }
        return (broker, channel, try #require(channel.position), reader)
    }

    private func trigger(_ numbers: ClosedRange<Int>, _ broker: ScriptedBroker) throws {
        for number in numbers { try broker.trigger("e", on: ["room"], text: "\(number)") }
    }

    private func move(_ position: ChannelPosition, to serial: UInt64) -> ChannelPosition {
        ChannelPosition(stream: position.stream, serial: serial)
    }

    @Test(
        "Each lease gets what is after its start, live and over a lost connection",
        arguments: [true, false]
    )
    func readers(isLost: Bool) async throws {
        var (broker, channel, position, first) = try await subscribed()
        if isLost {
            channel.client.suspend()
            try await broker.waitForConnections(0)
            try trigger(4...8, broker)
        }
        var ahead = Reader(channel.subscription(from: move(position, to: 6)))
        var behind = Reader(channel.subscription(from: move(position, to: 1)))
        var other = Reader(channel.subscription(from: ChannelPosition(stream: "x", serial: 7)))
        if isLost { channel.client.connect() } else { try trigger(4...8, broker) }
        let end = isLost ? ["recovered 5"] : []
        let all = ["4", "5", "6", "7", "8"] + end
        #expect(try await first.read(all.count) == all)
        #expect(try await ahead.read(2 + end.count) == ["7", "8"] + end)
        #expect(try await behind.read(1 + all.count) == ["gap behind 2"] + all)
        #expect(try await other.read(1 + all.count) == ["gap unknown_stream"] + all)
        channel.client.disconnect()
    }

    @Test("The app's own start is that of the callbacks")
    func callbacks() async throws {
        var (broker, channel, position, first) = try await subscribed()
        let (called, told) = (Seen<String>(), Seen<Continuity>())
        channel.bind("e") { called.add($0.data ?? "") }
        channel.onContinuity { told.add($0) }
        channel.subscribe(from: move(position, to: 5))
        try trigger(4...6, broker)
        #expect(try await first.read(3) == ["4", "5", "6"])
        await called.wait(for: 1)
        #expect(called.all == ["6"] && told.all == [])
        channel.subscribe(from: move(position, to: 1))
        await told.wait(for: 1)
        #expect(told.all == [.gap(Gap(.behind, missed: 5))])
        try trigger(7...7, broker)
        #expect(try await first.read(1) == ["7"])
        channel.client.disconnect()
    }

    @Test("After a gap a lease gets everything, wherever it began")
    func gaps() async throws {
        var settings = ScriptedBroker.Settings()
        settings.historyMessagesMax = 2
        var (broker, channel, position, first) = try await subscribed(settings)
        var ahead = Reader(channel.subscription(from: move(position, to: 100)))
        channel.client.suspend()
        try await broker.waitForConnections(0)
        try trigger(4...8, broker)
        channel.client.connect()
        try await channel.waitUntilSubscribed()
        try trigger(9...9, broker)
        #expect(try await first.read(2) == ["gap truncated 5", "9"])
        #expect(try await ahead.read(2) == ["gap truncated 5", "9"])
        channel.client.disconnect()
    }

    @Test(
        "A lease at or ahead of the channel has its state, one that is behind loads it",
        arguments: [1, 3, 5] as [UInt64],
        [true, false]
    )
    func states(start: UInt64, isLost: Bool) async throws {
        let (broker, channel, position, first) = try await subscribed()
        if isLost {
            channel.client.suspend()
            try await broker.waitForConnections(0)
            try trigger(4...6, broker)
        }
        let lease = channel.subscription(from: move(position, to: start))
        var deliveries = lease.deliveries("e", behind: { "state" }).makeAsyncIterator()
        if isLost { channel.client.connect() } else { try trigger(4...6, broker) }
        var read: [String] = []
        while read.last != "6", let delivery = try await deliveries.next() {
            switch delivery {
            case .state(let state): read.append(state)
            case .event(let event, _): read.append(event.data ?? "")
            case .undecodable: break
            }
        }
        let states = start == 1 ? ["state"] : []
        #expect(read == states + (start == 5 ? ["6"] : ["4", "5", "6"]))
        _ = first
        channel.client.disconnect()
    }
}

/// Reads a lease's sequence as texts.
private struct Reader {
    private var deliveries: Deliveries<ChannelEvent>.AsyncIterator

    init(_ lease: ChannelSubscription) {
        deliveries = lease.deliveries("e").makeAsyncIterator()
    }

    mutating func read(_ count: Int) async throws -> [String] {
        var texts: [String] = []
        while texts.count < count, let delivery = try await deliveries.next() {
            switch delivery {
            case .event(let event, _): texts.append(event.data ?? "")
            case .recovered(let count): texts.append("recovered \(count)")
            case .gap(let gap):
                texts.append(
                    (["gap", "\(gap.reason)"] + (gap.missed.map { ["\($0)"] } ?? [])).joined(
                        separator: " "
                    )
                )
            case .undecodable(_, let error): texts.append("\(error)")
            }
        }
        return texts
    }
}

extension [SessionEffect] {
    /// The gaps told to single leases.
    fileprivate var leaseGaps: [String] {
        compactMap {
            guard case .leaseGap(_, let lease, let gap, _, let position) = $0 else { return nil }
            return "\(lease) \(gap) at \(position.map { "\($0.serial)" } ?? "nil")"
        }
    }
}
