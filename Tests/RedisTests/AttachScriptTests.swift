import RESP
import Redis
import TestRedis
import Testing

@Suite("Scripts: subscriptions") struct AttachScriptTests {
    private func attached(
        _ sum: Int,
        wasVacant: Int,
        last: Value = .null,
        first: Value = .null,
        cached: Value = .null,
        members: [String] = []
    ) -> Value {
        .list(
            .array,
            [
                .integer(sum), .integer(wasVacant), last, first, cached,
                .list(.array, members.map { .bulk($0) }),
            ]
        )
    }

    private func detached(_ sum: Int, isVacant: Int) -> Value {
        .list(.array, [.integer(sum), .integer(isVacant)])
    }

    @Test func countsTheSubscriptionsOfAllNodes() throws {
        let store = try ClusterStore()
        try store.registered("a")
        try store.registered("b")
        #expect(try store.attach(by: "a", count: 3) == attached(3, wasVacant: 1))
        #expect(try store.attach(by: "b", count: 2) == attached(5, wasVacant: 0))
        // The count is the node's own, so that a repetition changes nothing.
        #expect(try store.attach(by: "a", count: 3) == attached(5, wasVacant: 0))
        #expect(try store.attach(by: "a", count: 1) == attached(3, wasVacant: 0))
        #expect(try store.call("ZRANGE", "o", "0", "-1") == .list(.array, [.bulk("x")]))
        #expect(try store.call("SISMEMBER", "i:a", "c:x") == .integer(1))
        #expect(try store.detach(by: "a") == detached(2, isVacant: 0))
        #expect(try store.detach(by: "a") == detached(2, isVacant: 0))
        #expect(try store.detach(by: "b") == detached(0, isVacant: 1))
        #expect(try store.detach(by: "b") == detached(0, isVacant: 0))
        for key in ["o", "n:x"] { #expect(try store.call("EXISTS", key) == .integer(0)) }
        #expect(try store.call("SMEMBERS", "i:a") == .list(.set, [.bulk(".")]))
        #expect(try store.attach(by: "b") == attached(1, wasVacant: 1))
    }

    @Test func listsOccupiedChannelsByName() throws {
        let store = try ClusterStore()
        try store.registered()
        for channel in ["b", "c", "a", "B"] { _ = try store.attach(channel) }
        let names = try store.call("ZRANGEBYLEX", "o", "[a", "+").elements.map(\.text)
        #expect(names == ["a", "b", "c"])
    }

    @Test func knowsThePositionOfARecoverableChannel() throws {
        let store = try ClusterStore()
        try store.registered()
        #expect(try store.attach(flags: "r") == attached(1, wasVacant: 1))
        let message = ClusterStore.Message()
        let last = try #require(store.publish(message, message, opens: true).last)
        let first = Value.bulk("\(last.text.dropLast())1")
        #expect(try store.attach(flags: "r") == attached(1, wasVacant: 0, last: last, first: first))
        #expect(try store.attach() == attached(1, wasVacant: 0))
        _ = try store.call("XTRIM", "h:x", "MAXLEN", "0")
        #expect(try store.attach(flags: "r") == attached(1, wasVacant: 0, last: last))
    }

    @Test func beginsAStreamForAClientThatTracks() throws {
        let store = try ClusterStore()
        try store.registered()
        try store.subscribe()
        let reply = try store.attach(flags: "t")
        let start = try Position(reply.elements[2])
        #expect(start.serial == 0 && reply == attached(1, wasVacant: 1, last: reply.elements[2]))
        // Announced before the reply, so other nodes know it too.
        let messages = try store.live.takeMessages()
        #expect(messages.count == 1 && messages[0].hasSuffix(" \(start.stream)"))
        #expect(try store.call("XLEN", "h:x") == .integer(0))
        #expect(try store.attach(flags: "t").elements[2] == reply.elements[2])
        #expect(
            try store.publish(ClusterStore.Message(stream: "\(start.stream)")) == [.integer(1)]
        )
        // A new epoch begins a new stream; until then the sealed one is reported.
        let epoch = try store.registered(run: "2")
        #expect(try Position(store.attach(flags: "r").elements[2]) == start.with(serial: 1))
        #expect(try Position(store.attach(flags: "t").elements[2]).stream > epoch.since)
    }

    @Test func readsTheMembers() throws {
        let store = try ClusterStore()
        try store.registered()
        _ = try store.call("HSET", "q:x", "u", "{\"name\":\"U\"}")
        #expect(
            try store.attach(flags: "p")
                == attached(1, wasVacant: 1, members: ["u", "{\"name\":\"U\"}"])
        )
    }

    @Test func refusesANodeThatIsNotRegistered() throws {
        let store = try ClusterStore()
        try store.registered("b")
        for reply in [try store.attach(by: "a"), try store.detach(by: "a")] {
            #expect(reply.text == "FENCED node a is not registered")
        }
        for key in ["o", "n:x", "i:a"] { #expect(try store.call("EXISTS", key) == .integer(0)) }
    }
}
