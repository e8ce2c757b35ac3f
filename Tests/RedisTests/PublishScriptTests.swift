import RESP
import Redis
import TestRedis
import Testing

@Suite("Scripts: publishing") struct PublishScriptTests {
    private let keys = ClusterStore.keys

    @Test func countsAMessageWithoutAStream() throws {
        let store = try ClusterStore()
        try store.register()
        try store.subscribe()
        #expect(try store.publish(message(), message(in: .none)) == [.counted, .counted])
        #expect(try store.call("GET", keys.counter) == .bulk("2"))
        #expect(try store.call("EXISTS", store.messages) == .integer(0))
        #expect(try store.live.takeMessages() == ["0 e - 1 {}", "0 e - 1 {}"])
        #expect(try store.register().counter == 2)
        #expect(try store.heartbeat().counter == 2)
    }

    @Test func numbersTheMessagesOfAStream() throws {
        let store = try ClusterStore()
        let since = try store.register().epoch.since
        try store.subscribe()
        let first = try store.open(message("e - 1 a"))
        #expect(first.stream > since && first.serial == 1)
        // Unknown to the caller, then known.
        #expect(try store.publish(message("e 1.2 2 b")) == [.placed(first.with(serial: 2))])
        let stream = ClusterMessage.Stream.id(first.stream)
        let later = try store.publish(
            message(in: stream, "+ - 3 c"),
            message(on: "y"),
            message(in: stream, "# - 4 d")
        )
        #expect(later == [.numbered(serial: 3), .counted, .numbered(serial: 4)])
        let messages = try store.live.takeMessages()
        #expect(messages[0].hasPrefix("0 ! - ") && messages[0].hasSuffix(" \(first.stream) first"))
        #expect(messages.dropFirst() == ["1 e - 1 a", "2 e 1.2 2 b", "3 + - 3 c", "4 # - 4 d"])
        let kept = try store.call("XRANGE", store.messages, "-", "+").elements
        #expect(kept.map(\.elements[0].text) == (1...UInt64(4)).map { "\(first.with(serial: $0))" })
        #expect(kept[1].elements[1].elements.map(\.text) == ["d", "e 1.2 2 b"])
        let lifetime = try #require(Int(store.call("TTL", store.messages).text))
        #expect(lifetime > 86_000)
    }

    @Test func beginsAStreamWithoutAMessage() throws {
        let store = try ClusterStore()
        let since = try store.register().epoch.since
        try store.subscribe()
        func begin() throws -> StreamPosition {
            try store.send(store.calls(of: "a").beginStream(of: ClusterStore.channel("x"))) {
                StreamPosition($0)
            }
        }
        let start = try begin()
        #expect(start.stream > since && start.serial == 0)
        #expect(try begin() == start)
        #expect(try store.open() == start.with(serial: 1))
        #expect(try begin() == start.with(serial: 1))
        #expect(
            try store.live.takeMessages().map { $0.prefix(3) } == ["0 !", "1 e"]
        )
        try store.register(run: "2")
        let next = try begin()
        #expect(next.stream > start.stream && next.serial == 0)
    }

    @Test(arguments: [false, true])
    func publishesOnTheConditionOfThePosition(opens: Bool) throws {
        let store = try ClusterStore()
        try store.register()
        func publish(
            in stream: ClusterMessage.Stream = .unknown,
            ifLastIs expected: StreamPosition,
            key: String? = nil
        ) throws -> PublishOutcome {
            var message = message(in: stream, idempotency: key.map { ($0, "d") })
            message.expected = expected
            return try store.publish(message, opens: opens)[0]
        }
        let none = StreamPosition(stream: 0, serial: 0)
        if !opens {
            // Without a stream there is no position.
            #expect(try publish(ifLastIs: none) == .outdated(nil))
            #expect(try publish(in: .none, ifLastIs: none) == .outdated(nil))
        }
        let first = try store.open()
        try store.subscribe()
        for stale in [none, first.with(serial: 0), first.with(serial: 2)] {
            #expect(try publish(ifLastIs: stale) == .outdated(first))
            #expect(
                try publish(in: .id(first.stream), ifLastIs: stale, key: "k") == .outdated(first)
            )
        }
        #expect(try store.live.takeMessages().isEmpty)
        #expect(try publish(ifLastIs: first, key: "k") == .placed(first.with(serial: 2)))
        #expect(try publish(ifLastIs: first, key: "k") == .repeated(first.with(serial: 2)))
        #expect(try publish(ifLastIs: first) == .outdated(first.with(serial: 2)))
        #expect(try store.live.takeMessages() == ["2 e - 1 {}"])
        // In one call each counts for the next.
        var second = message()
        second.expected = first.with(serial: 3)
        let both = try store.publish(message(), second, opens: opens)
        #expect(both == [3, 4].map { .placed(first.with(serial: $0)) })
    }

    @Test func beginsANewStreamBehindASealedOne() throws {
        let store = try ClusterStore()
        try store.register()
        let first = try store.open()
        let epoch = try store.register(run: "2").epoch
        // Whether the caller knows the old stream or not, it has to open the new one.
        try store.subscribe()
        #expect(try store.publish(message()) == [.stale])
        let second = try store.open(message("e - 2 b"))
        #expect(second.stream > epoch.since && second.serial == 1)
        let both = try store.publish(
            message(in: .id(first.stream)),
            message(in: .id(second.stream))
        )
        #expect(both == [.stale, .numbered(serial: 2)])
        // The end of the sealed stream is kept, before the new one.
        let kept = try store.call("XRANGE", store.messages, "-", "+").elements.map(
            \.elements[0].text
        )
        #expect(kept == [first, second, second.with(serial: 2)].map(\.description))
        // What was refused was not announced.
        #expect(try store.live.takeMessages().dropFirst() == ["1 e - 2 b", "2 e - 1 {}"])
    }

    @Test func refusesAStreamThatIsGoneOrWasLost() throws {
        let store = try ClusterStore()
        try store.register()
        #expect(try store.publish(message(in: .id(1_763_850_000_123))) == [.stale])
        let position = try store.open()
        #expect(try store.publish(message(in: .id(position.stream + 5))) == [.stale])
        #expect(try store.call("XLEN", store.messages) == .integer(1))
        #expect(try store.call("GET", keys.counter) == .null)
    }

    @Test("Every message on a stream that was lost is refused, and the channel goes on")
    func givesBackTheIDOfALostStream() throws {
        let store = try ClusterStore()
        try store.register()
        let position = try store.open()
        let lost = message(in: .id(position.stream + 5))
        #expect(try store.publish(lost, lost) == [.stale, .stale])
        #expect(try store.publish(lost) == [.stale])
        let lifetime = try #require(Int(store.call("TTL", store.messages).text))
        #expect(lifetime > 86_000)
        #expect(try store.open() == position.with(serial: 2))
        #expect(try store.publish(message(in: .id(position.stream))) == [.numbered(serial: 3)])
        // Without messages its last position is not known any more, so another stream begins.
        try store.call("XTRIM", store.messages, "MAXLEN", "0")
        #expect(try store.publish(lost, lost) == [.stale, .stale])
        // The ID of a stream is the millisecond of its beginning.
        store.live.run {
            let time = (try? store.live.call("TIME").elements.compactMap { UInt64($0.text) }) ?? []
            return time.count == 2 && time[0] * 1_000 + time[1] / 1_000 > position.stream
        }
        let next = try store.open()
        #expect(next.stream > position.stream && next.serial == 1)
    }

    @Test func appendsNothingToASealedStream() throws {
        let store = try ClusterStore()
        try store.register()
        let position = try store.open()
        // Another node has begun an epoch, of which the publisher does not know yet.
        try store.register("b", run: "2")
        let named = message(in: .id(position.stream))
        #expect(try store.publish(named, named) == [.stale, .stale])
        #expect(try store.call("XLEN", store.messages) == .integer(1))
    }

    @Test func keepsItsPlaceInAnEmptyStream() throws {
        let store = try ClusterStore()
        try store.register()
        let first = try store.open()
        #expect(try store.publish(message()) == [.placed(first.with(serial: 2))])
        try store.call("XTRIM", store.messages, "MAXLEN", "0")
        #expect(try store.publish(message(in: .id(first.stream))) == [.numbered(serial: 3)])
        try store.call("XTRIM", store.messages, "MAXLEN", "0")
        #expect(try store.publish(message()) == [.placed(first.with(serial: 4))])
        #expect(try store.open() == first.with(serial: 5))
    }

    @Test func keepsOnlyTheNewest() throws {
        let store = try ClusterStore(["--stream-node-max-entries", "10"])
        try store.register()
        let first = try store.open()
        let more = message(in: .id(first.stream), lengthMax: 20)
        for _ in 0..<10 { _ = try store.publish(Array(repeating: more, count: 10)) }
        let length = try #require(Int(store.call("XLEN", store.messages).text))
        #expect((20...30).contains(length))
        #expect(try store.publish(message()) == [.placed(first.with(serial: 102))])
    }

    @Test(arguments: [ClusterMessage.Stream.none, .unknown])
    func publishesAnIdempotencyKeyOnce(stream: ClusterMessage.Stream) throws {
        let store = try ClusterStore()
        try store.register()
        try store.subscribe()
        let first = message(in: stream, idempotency: ("key", "digest 1"))
        #expect(try store.publish(first) == [.counted])
        #expect(try store.publish(first, first) == [.repeated(nil), .repeated(nil)])
        let other = message(in: stream, idempotency: ("key", "digest 2"))
        let conflict = RedisError("CONFLICT the idempotency key belongs to another message")
        #expect(try store.publish(other, message(in: stream)) == [.refused(conflict), .counted])
        #expect(try store.live.takeMessages().count == 2)
        #expect(try store.call("TTL", keys.idempotency("1", "key")).text.count == 2)
    }

    @Test func remembersThePositionOfAnIdempotencyKey() throws {
        let store = try ClusterStore()
        try store.register()
        let first = message(idempotency: ("key", "digest"))
        let position = try store.open(first)
        #expect(try store.publish(first, opens: true) == [.repeated(position)])
        let named = message(in: .id(position.stream), idempotency: ("key", "digest"))
        #expect(try store.publish(named) == [.repeated(position)])
        // A refused message is not remembered.
        let stale = message(in: .id(1), idempotency: ("other", "digest"))
        #expect(try store.publish(stale) == [.stale])
        #expect(try store.open(stale) == position.with(serial: 2))
        #expect(try store.call("XLEN", store.messages) == .integer(2))
    }

    @Test func keepsTheCachedEvent() throws {
        let store = try ClusterStore()
        try store.register()
        let caching = ClusterMessage.Caching(lifetime: 60, eventsMax: 10)
        _ = try store.publish(message(in: .none, "e - 1 a", caching: caching))
        #expect(try store.call("HGET", store.cachedEvents, "x") == .bulk("0 e - 1 a"))
        _ = try store.publish(
            message(idempotency: ("key", "digest"), caching: caching),
            message("e - 2 b", caching: caching),
            opens: true
        )
        #expect(try store.call("HGET", store.cachedEvents, "x") == .bulk("2 e - 2 b"))
        #expect(try store.call("TTL", store.cachedEvents).text.count == 2)
        #expect(try store.attach(.cachedEvent).cachedEvent == Array("2 e - 2 b".utf8))
        #expect(try store.attach().cachedEvent == nil)
        // Expired, and not removed yet.
        try store.call("ZADD", keys.cachedEventExpiries("1"), "1", "x")
        #expect(try store.attach(.cachedEvent).cachedEvent == nil)
    }

    @Test func keepsTheNewestCachedEventsOfAnApp() throws {
        let store = try ClusterStore()
        try store.register()
        let caching = ClusterMessage.Caching(lifetime: 60, eventsMax: 2)
        for name in ["x", "y", "x", "z"] {
            // Expiries have milliseconds.
            let time = try store.heartbeat().time
            while try store.heartbeat().time == time {}
            try store.publish(message(on: name, in: .none, "e - 1 \(name)", caching: caching))
        }
        let events = try store.call("HKEYS", store.cachedEvents).elements.map(\.text)
        #expect(Set(events) == ["x", "z"])
        let channels = try store.call("ZRANGE", keys.cachedEventExpiries("1"), "0", "-1").elements
        #expect(channels.map(\.text) == ["x", "z"])
    }

    @Test func reportsClientEvents() throws {
        let store = try ClusterStore()
        try store.register()
        var event = message(in: .none, "c 1.2 3 {}")
        event.webhook = Array(#"{"event":"client a b"}"#.utf8)
        var repeated = event
        repeated.idempotency = .init(key: "key", digest: "digest", age: 60)
        #expect(try store.publish(event, repeated, repeated).count == 3)
        let webhook = #"client {"event":"client a b"}"#
        #expect(try store.takeWebhooks() == [webhook, webhook])
    }

    @Test func purgesAChannel() throws {
        let store = try ClusterStore()
        try store.register()
        let calls = store.calls(of: "a")
        func purge(begins: Bool = false) throws -> StreamPosition? {
            let call = calls.purge(ClusterStore.channel("x"), begins: begins)
            return try store.live.reply(to: store.live.connection.send(call)) { StreamPosition($0) }
        }
        #expect(try purge() == nil)
        #expect(try store.call("EXISTS", store.messages) == .integer(0))
        let first = try #require(try purge(begins: true))
        let caching = ClusterMessage.Caching(lifetime: 60, eventsMax: 2)
        let named = message(in: .id(first.stream), caching: caching)
        #expect(try store.publish(named) == [.numbered(serial: 1)])
        try store.subscribe()
        let second = try #require(try purge())
        #expect(first.serial == 0 && second.serial == 0 && second.stream > first.stream)
        #expect(try store.takeAnnouncements() == ["0 ! - \(second.stream) purge"])
        #expect(try store.call("XLEN", store.messages) == .integer(0))
        #expect(try store.attach(.cachedEvent).cachedEvent == nil)
        // A publisher that knows the old stream.
        #expect(try store.publish(named) == [.stale])
        #expect(try store.open() == second.with(serial: 1))
    }

    @Test func comparesAndRenewsStreams() throws {
        let store = try ClusterStore()
        let since = try store.register().epoch.since
        let first = try store.open()
        try store.call("EXPIRE", store.messages, "5")
        let channels = ["x", "y"].map { ClusterStore.channel($0) }
        let positions = try store.send(store.calls(of: "a").positions(of: channels)) {
            StreamPositions($0)
        }
        #expect(positions.since == since && positions.newest == [first, nil])
        #expect(try store.call("TTL", store.messages).text.count == 5)
    }

    @Test func publishesAFullBatch() throws {
        let store = try ClusterStore()
        try store.register()
        try store.subscribe()
        let messages = (0..<ClusterScripts.messageCountMax).map { message("e - 1 \($0)") }
        let first = try store.open()
        let outcomes = try store.publish(messages, opens: true)
        #expect(outcomes == (2...UInt64(65)).map { .placed(first.with(serial: $0)) })
        let announced = try store.live.takeMessages().dropFirst(2)
        #expect(announced.elementsEqual((2...65).map { "\($0) e - 1 \($0 - 2)" }))
    }

    @Test(arguments: [false, true])
    func publishesOnSeveralPartitions(opens: Bool) throws {
        let store = try ClusterStore()
        let partitions = PartitionKeys.all(prefix: "g", count: 3)
        let names = partitions.map { $0.announcements(ClusterStore.channel("x")).description }
        try store.live.connection.subscribe(to: names)
        let call = store.scripts.publishing(
            partitions.enumerated().map { index, keys in
                let entries = (0...index).map { message(in: .none, "e - 1 \(index)\($0)") }
                return PartitionMessages(keys, entries)
            },
            opens: opens
        )
        let outcomes = try store.outcomes(of: call)
        let places: [UInt64] = outcomes.map { outcome in
            if case .placed(let position) = outcome { position.serial } else { 0 }
        }
        #expect(places == (opens ? [1, 1, 2, 1, 2, 3] : [0, 0, 0, 0, 0, 0]))
        let messages = try store.live.takeMessages().filter { $0.contains(" e ") }
        let bodies = ["00", "10", "11", "20", "21", "22"]
        #expect(messages == zip(places, bodies).map { "\($0) e - 1 \($1)" })
        for (index, keys) in partitions.enumerated() where !opens {
            #expect(try store.call("GET", keys.counter).text == "\(index + 1)")
        }
    }

    @Test func isRefusedAsAWholeWithoutMemory() throws {
        let store = try ClusterStore()
        try store.register()
        try store.subscribe()
        try store.live.call("CONFIG", "SET", "maxmemory", "1")
        let call = store.calls(of: "a").publish([message()])
        #expect(try store.refusal(of: call)?.code == .outOfMemory)
        #expect(try store.live.takeMessages().isEmpty)
    }

    @Test func announcesByShardedPublishingInARedisCluster() throws {
        let store = try ClusterStore(scripts: ClusterScripts(isSharded: true))
        let name = keys.announcements(ClusterStore.channel("x")).description
        try store.live.connection.subscribe(to: [name], isSharded: true)
        #expect(try store.publish(message(in: .none, "e - 1 a")) == [.counted])
        let push = Value.list(.push, ["smessage", name, "0 e - 1 a"].map { .bulk($0) })
        store.live.run { store.live.owner.events.contains(.push(push)) }
    }
}
