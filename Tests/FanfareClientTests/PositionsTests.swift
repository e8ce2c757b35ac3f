import FanfareTesting
import Synchronization
import Testing

@testable import FanfareClient

/// Positions in memory, as an app's store.
private final class MemoryPositions: PositionStore {
    struct Broken: Error {}

    private let stored = Mutex<[String: StoredPosition]>([:])
    private let isBroken: Bool

    init(isBroken: Bool = false) { self.isBroken = isBroken }

    func serial(of channel: String) -> UInt64? { stored.withLock { $0[channel]?.serial } }

    func positions() throws -> [StoredPosition] {
        guard !isBroken else { throw Broken() }
        return stored.withLock { Array($0.values) }
    }

    func save(_ positions: [StoredPosition]) throws {
        guard !isBroken else { throw Broken() }
        stored.withLock { stored in
            for position in positions { stored[position.channel] = position }
        }
    }
}

@Suite("Positions of an app", .timeLimit(.minutes(2))) struct PositionsTests {
    @Test("The position moves when callbacks have returned and sequences have been read")
    func handledPositions() async throws {
        let broker = ScriptedBroker()
        let client = broker.client()
        let channel = client.channel("room")
        let called = Seen<String>()
        channel.bind("e") { called.add($0.data ?? "") }
        var events: Deliveries<ChannelEvent>.AsyncIterator? = channel.subscription()
            .deliveries("e").makeAsyncIterator()
        client.connect()
        try await channel.waitUntilSubscribed()
        #expect(channel.position?.serial == 0)
        for number in 1...3 { try broker.trigger("e", on: ["room"], text: "\(number)") }
        try await broker.settle()
        #expect(called.all.count == 3)
        for number in 0..<3 as Range<UInt64> {
            #expect(channel.position?.serial == number)
            _ = try await events?.event()
        }
        #expect(channel.position?.serial == 3)
        #expect(client.positions == ["room": try #require(channel.position)])
        try broker.trigger("e", on: ["room"], text: "4")
        try await broker.settle()
        #expect(channel.position?.serial == 3)
        // The reader is released with what it has not read, and the lease with it.
        channel.subscribe()
        events = nil
        await eventually("the last event") { channel.position?.serial == 4 }
        channel.unsubscribe()
        #expect(channel.position == nil && client.positions.isEmpty)
        client.disconnect()
    }

    @Test("An app goes on from a position of its own")
    func givenPositions() async throws {
        let broker = ScriptedBroker()
        let first = broker.client()
        let channel = first.subscribe("room")
        first.connect()
        try await channel.waitUntilSubscribed()
        for number in 1...3 { try broker.trigger("e", on: ["room"], text: "\(number)") }
        try await broker.settle()
        let position = try #require(channel.position)
        for number in 4...6 { try broker.trigger("e", on: ["room"], text: "\(number)") }
        let second = broker.client()
        let told = Continuities(of: second.channel("room"))
        let deliveries = second.channel("room").subscription(from: position).deliveries("e")
        second.connect()
        #expect(await told.next() == .resumed(replayed: 3))
        #expect(try await deliveries.texts(3) == ["4", "5", "6"])
        for client in [first, second] { client.disconnect() }
    }

    @Test(
        "A rewind begins with earlier events where the broker allows it, and says whether there are fewer",
        arguments: [true, false],
        [2, 7]
    )
    func rewinds(isAllowed: Bool, count: Int) async throws {
        var settings = ScriptedBroker.Settings()
        settings.allowsRewind = isAllowed
        settings.historyMessagesMax = 3
        let broker = ScriptedBroker(settings)
        let first = broker.client()
        first.subscribe("room")
        first.connect()
        try await broker.waitForSubscribers(to: "room")
        for number in 1...5 { try broker.trigger("e", on: ["room"], text: "\(number)") }
        let second = broker.client()
        let seen = Seen<String>()
        second.channel("room").bind("e") { seen.add($0.data ?? "") }
        let told = Seen<Continuity>()
        second.channel("room").onContinuity { told.add($0) }
        let channel = second.channel("room").subscribe(rewind: .count(count))
        second.connect()
        try await broker.waitForSubscribers(2, to: "room")
        try broker.trigger("e", on: ["room"], text: "6")
        try await broker.settle()
        let earlier = !isAllowed ? [] : count == 2 ? ["4", "5"] : ["3", "4", "5"]
        #expect(seen.all == earlier + ["6"])
        let isComplete = count == 2
        #expect(
            told.all
                == [isAllowed ? .rewound(count: earlier.count, isComplete: isComplete) : .began]
        )
        #expect(channel.position?.serial == 6)
        for client in [first, second] { client.disconnect() }
    }

    @Test(
        "A channel that opens with earlier events gives them to a new client, and a resume adds none"
    )
    func openingsWithEarlierEvents() async throws {
        var settings = ScriptedBroker.Settings()
        settings.opening = .replay(count: 2)
        let broker = ScriptedBroker(settings)
        for number in 1...3 { try broker.trigger("e", on: ["room"], text: "\(number)") }
        try broker.trigger("e", on: ["room"], text: "live only", isEphemeral: true)
        let client = broker.client()
        let seen = Seen<String>()
        client.channel("room").bind("e") { seen.add($0.data ?? "") }
        client.subscribe("room")
        client.connect()
        try await broker.waitForSubscribers(to: "room")
        try await broker.settle()
        #expect(seen.all == ["2", "3"])
        try broker.trigger("e", on: ["room"], text: "4", isEphemeral: true)
        broker.cut()
        try broker.trigger("e", on: ["room"], text: "5")
        try await broker.advance(by: .seconds(31))
        try await broker.waitForSubscribers(to: "room")
        try await broker.settle()
        #expect(seen.all == ["2", "3", "4", "5"])
        #expect(client.channel("room").position?.serial == 4)
        client.disconnect()
    }

    @Test("With a store, a new run of the app goes on where the last one was")
    func storedPositions() async throws {
        let broker = ScriptedBroker()
        let store = MemoryPositions()
        var number = 0
        for run in 1...4 {
            let client = broker.client { $0.recovery.positions = store }
            let seen = Seen<String>()
            client.channel("room").bind("e") { seen.add($0.data ?? "") }
            let channel = client.subscribe("room")
            client.connect()
            try await broker.waitForSubscribers(to: "room")
            number += 1
            try broker.trigger("e", on: ["room"], text: "\(number)")
            await seen.wait(for: run == 1 ? 1 : 3)
            #expect(seen.all == (run == 1 ? ["1"] : (number - 2...number).map { "\($0)" }))
            if run == 3 {
                // Unsubscribed and subscribed again: it goes on, too.
                channel.unsubscribe()
                channel.subscribe()
                try await broker.waitForSubscribers(to: "room")
            }
            let last = UInt64(number)
            await eventually("the stored position") { store.serial(of: "room") == last }
            client.disconnect()
            try await broker.waitForSubscribers(0, to: "room")
            for _ in 0..<2 {
                number += 1
                try broker.trigger("e", on: ["room"], text: "\(number)")
            }
        }
    }

    @Test("A stored position precedes a rewind", arguments: [true, false])
    func storedBeforeRewinds(isStored: Bool) async throws {
        var settings = ScriptedBroker.Settings()
        settings.allowsRewind = true
        let broker = ScriptedBroker(settings)
        let first = broker.client()
        let channel = first.subscribe("room")
        first.connect()
        try await channel.waitUntilSubscribed()
        for number in 1...5 { try broker.trigger("e", on: ["room"], text: "\(number)") }
        try await broker.settle()
        let store = MemoryPositions()
        let stream = try #require(channel.position).stream
        if isStored {
            let stored = StoredPosition(channel: "room", stream: stream, serial: 1)
            try store.save([stored])
        }
        let second = broker.client { $0.recovery.positions = store }
        let deliveries = second.channel("room").subscription(rewind: .count(2)).deliveries("e")
        second.connect()
        let texts = try await deliveries.texts(isStored ? 4 : 2)
        #expect(texts == (isStored ? ["2", "3", "4", "5"] : ["4", "5"]))
        for client in [first, second] { client.disconnect() }
    }

    @Test("A store that fails is reported, and the client goes on")
    func brokenStores() async throws {
        let broker = ScriptedBroker()
        let client = broker.client { $0.recovery.positions = MemoryPositions(isBroken: true) }
        let errors = Seen<FanfareError>()
        client.onError { errors.add($0) }
        let channel = client.subscribe("room")
        client.connect()
        try await channel.waitUntilSubscribed()
        await errors.wait(for: 2)
        #expect(errors.all.allSatisfy { $0.code == .positionsFailed })
        client.disconnect()
    }
}
