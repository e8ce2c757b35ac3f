import RESP
import Redis
import TestRedis
import Testing

@Suite("Scripts: publishing") struct PublishScriptTests {
    typealias Message = ClusterStore.Message

    @Test func countsAMessageWithoutAStream() throws {
        let store = try ClusterStore()
        try store.registered()
        try store.subscribe()
        #expect(try store.publish(Message(), Message(stream: "")) == [.integer(0), .integer(0)])
        #expect(try store.call("GET", "c") == .bulk("2"))
        #expect(try store.call("EXISTS", "h:x") == .integer(0))
        #expect(try store.live.takeMessages() == ["0 e - 1 {}", "0 e - 1 {}"])
    }

    @Test func numbersTheMessagesOfAStream() throws {
        let store = try ClusterStore()
        let since = try store.registered().since
        try store.subscribe()
        let first = try Position(
            #require(store.publish(Message(entry: "e - 1 a"), opens: true).first)
        )
        #expect(first.stream > since && first.serial == 1)
        // Unknown to the caller, then known.
        let second = try Position(#require(store.publish(Message(entry: "e 1.2 2 b")).first))
        #expect(second == first.with(serial: 2))
        let stream = "\(first.stream)"
        let later = try store.publish(
            Message(stream: stream, entry: "+ - 3 c"),
            Message(channel: "y"),
            Message(stream: stream, entry: "# - 4 d")
        )
        #expect(later == [.integer(3), .integer(0), .integer(4)])
        let messages = try store.live.takeMessages()
        #expect(messages[0].hasPrefix("0 ! - ") && messages[0].hasSuffix(" \(stream)"))
        #expect(messages.dropFirst() == ["1 e - 1 a", "2 e 1.2 2 b", "3 + - 3 c", "4 # - 4 d"])
        let kept = try store.call("XRANGE", "h:x", "-", "+").elements
        #expect(kept.map(\.elements[0].text) == (1...4).map { "\(stream)-\($0)" })
        #expect(kept[1].elements[1].elements.map(\.text) == ["d", "e 1.2 2 b"])
        let lifetime = try #require(Int(store.call("TTL", "h:x").text))
        #expect(lifetime > 86_000)
    }

    @Test func returnsToAStreamBehindEndedOnes() throws {
        let store = try ClusterStore()
        try store.registered()
        let first = try Position(#require(store.publish(Message(), opens: true).first))
        let epoch = try store.registered(run: "2")
        // Whether the caller knows the old stream or not, it has to open the new one.
        try store.subscribe()
        #expect(try store.publish(Message()) == [.null])
        let second = try Position(
            #require(store.publish(Message(entry: "e - 2 b"), opens: true).first)
        )
        #expect(second.stream > epoch.since && second.serial == 1)
        #expect(
            try store.publish(
                Message(stream: "\(first.stream)"),
                Message(stream: "\(second.stream)")
            )
                == [.null, .integer(2)]
        )
        // The end of the sealed stream is kept, before the new one.
        let kept = try store.call("XRANGE", "h:x", "-", "+").elements.map(\.elements[0].text)
        #expect(kept == ["\(first.stream)-1", "\(second.stream)-1", "\(second.stream)-2"])
        // What was refused was not announced.
        #expect(try store.live.takeMessages().dropFirst() == ["1 e - 2 b", "2 e - 1 {}"])
    }

    @Test func refusesAStreamThatIsGoneOrWasLost() throws {
        let store = try ClusterStore()
        try store.registered()
        #expect(try store.publish(Message(stream: "1763850000123")) == [.null])
        let position = try Position(#require(store.publish(Message(), opens: true).first))
        #expect(try store.publish(Message(stream: "\(position.stream + 5)")) == [.null])
        #expect(try store.call("XLEN", "h:x") == .integer(1))
        #expect(try store.call("GET", "c") == .null)
    }

    @Test func keepsItsPlaceInAnEmptyStream() throws {
        let store = try ClusterStore()
        try store.registered()
        let first = try Position(#require(store.publish(Message(), Message(), opens: true).last))
        #expect(first.serial == 2)
        _ = try store.call("XTRIM", "h:x", "MAXLEN", "0")
        #expect(try store.publish(Message(stream: "\(first.stream)")) == [.integer(3)])
        #expect(try store.publish(Message(), opens: true) == [.bulk("\(first.stream)-4")])
    }

    @Test func keepsOnlyTheNewest() throws {
        let store = try ClusterStore(["--stream-node-max-entries", "10"])
        try store.registered()
        let first = try Position(#require(store.publish(Message(), opens: true).first))
        for _ in 0..<100 {
            _ = try store.publish(Message(stream: "\(first.stream)", lengthMax: 20))
        }
        let length = try #require(Int(store.call("XLEN", "h:x").text))
        #expect((20...30).contains(length))
        #expect(try store.publish(Message()) == [.bulk("\(first.stream)-102")])
    }

    @Test(arguments: ["", "-"])
    func publishesAnIdempotencyKeyOnce(stream: String) throws {
        let store = try ClusterStore()
        try store.registered()
        try store.subscribe()
        let message = Message(stream: stream, idempotency: ("key", "digest 1"))
        #expect(try store.publish(message) == [.integer(0)])
        #expect(try store.publish(message, message) == [again("-"), again("-")])
        var other = message
        other.idempotency?.digest = "digest 2"
        let refusal = try store.publish(other, Message(stream: stream))
        #expect(refusal[0].text == "CONFLICT the idempotency key belongs to another message")
        #expect(refusal[1] == .integer(0))
        #expect(try store.live.takeMessages().count == 2)
        #expect(try store.call("TTL", "x:key").text.count == 2)
    }

    @Test func remembersThePositionOfAnIdempotencyKey() throws {
        let store = try ClusterStore()
        try store.registered()
        var message = Message(idempotency: ("key", "digest"))
        let position = try #require(store.publish(message, opens: true).first)
        #expect(try store.publish(message, opens: true) == [again(position.text)])
        message.stream = String(position.text.dropLast(2))
        #expect(try store.publish(message) == [again(position.text)])
        // A refused message is not remembered.
        let stale = Message(stream: "1", idempotency: ("other", "digest"))
        #expect(try store.publish(stale) == [.null])
        #expect(try store.publish(stale, opens: true) == [.bulk("\(message.stream)-2")])
        #expect(try store.call("XLEN", "h:x") == .integer(2))
    }

    private func again(_ position: String) -> Value { .list(.array, [.bulk(position)]) }

    @Test func keepsTheCachedEvent() throws {
        let store = try ClusterStore()
        try store.registered()
        _ = try store.publish(Message(stream: "", entry: "e - 1 a", isCached: true))
        #expect(try store.call("GET", "k:x") == .bulk("0 e - 1 a"))
        _ = try store.publish(
            Message(idempotency: ("key", "digest"), isCached: true),
            Message(entry: "e - 2 b", isCached: true),
            opens: true
        )
        #expect(try store.call("GET", "k:x") == .bulk("2 e - 2 b"))
        #expect(try store.call("TTL", "k:x").text.count == 2)
        #expect(try store.attach(flags: "k").elements[4] == .bulk("2 e - 2 b"))
    }

    @Test func publishesAFullBatch() throws {
        let store = try ClusterStore()
        try store.registered()
        try store.subscribe()
        let messages = (0..<ClusterScripts.messageCountMax).map { Message(entry: "e - 1 \($0)") }
        let opened = try store.publish(messages, opens: true)
        let first = try Position(#require(opened.first))
        #expect(opened == (1...64).map { .bulk("\(first.stream)-\($0)") })
        #expect(try store.live.takeMessages().count == 65)
    }

    @Test func isRefusedAsAWholeWithoutMemory() throws {
        let store = try ClusterStore()
        try store.registered()
        try store.subscribe()
        _ = try store.live.call("CONFIG", "SET", "maxmemory", "1")
        let call = try store.live.connection.evaluate(
            ClusterStore.scripts.publish,
            keys: ["c", "g", "h:x", "m:x"].map(ClusterStore.key),
            ["", "", "100", "e - 1 a"]
        )
        #expect(RedisError(try store.live.reply(to: call).text).code == .outOfMemory)
        #expect(try store.live.takeMessages().isEmpty)
    }

    @Test func announcesByShardedPublishingInARedisCluster() throws {
        let scripts = ClusterScripts(isSharded: true)
        let store = try ClusterStore(scripts: scripts)
        try store.live.connection.subscribe(to: [ClusterStore.key("m:x")], isSharded: true)
        let keys = ["c", "g", "h:x", "m:x"].map(ClusterStore.key)
        _ = try store.live.evaluate(scripts.publish, keys, ["", "", "100", "e - 1 a"])
        let push = Value.list(
            .push,
            ["smessage", ClusterStore.key("m:x"), "0 e - 1 a"].map { .bulk($0) }
        )
        #expect(store.live.owner.events.contains(.push(push)))
    }
}
