import RESP
import Redis
import TestRedis
import Testing

@Suite("Scripts: subscriptions") struct AttachScriptTests {
    private let keys = ClusterStore.keys

    @Test func countsTheSubscriptionsOfAllNodes() throws {
        let store = try ClusterStore()
        try store.register("a")
        try store.register("b")
        /// The count, and whether the channel was vacant.
        func attach(_ node: String, _ count: Int) throws -> [Int64] {
            let attachment = try store.attach(by: node, count: count)
            return [attachment.subscriptionCount, attachment.wasVacant ? 1 : 0]
        }
        /// The count, and whether the channel has become vacant.
        func detach(_ node: String) throws -> [Int64] {
            let detachment = try store.detach(by: node)
            return [detachment.subscriptionCount, detachment.becameVacant ? 1 : 0]
        }
        #expect(try attach("a", 3) == [3, 1])
        #expect(try attach("b", 2) == [5, 0])
        // The count is the node's own, so that a repetition changes nothing.
        #expect(try attach("a", 3) == [5, 0])
        #expect(try attach("a", 1) == [3, 0])
        #expect(try store.call("ZRANGE", store.occupied, "0", "-1").elements == [.bulk("x")])
        #expect(try store.call("SISMEMBER", keys.items(of: "a"), "c:1:x") == .integer(1))
        #expect(try detach("a") == [2, 0])
        #expect(try detach("a") == [2, 0])
        #expect(try detach("b") == [0, 1])
        #expect(try detach("b") == [0, 0])
        for key in [store.occupied, store.subscriptions] {
            #expect(try store.call("EXISTS", key) == .integer(0))
        }
        #expect(try store.call("SMEMBERS", keys.items(of: "a")) == .list(.set, [.bulk(".")]))
        #expect(try attach("b", 1) == [1, 1])
    }

    @Test func listsOccupiedChannelsByName() throws {
        let store = try ClusterStore()
        try store.register()
        for channel in ["b", "c", "a", "B"] { #expect(try store.attach(to: channel).wasVacant) }
        let names = try store.call("ZRANGEBYLEX", store.occupied, "[a", "+").elements
        #expect(names.map(\.text) == ["a", "b", "c"])
    }

    @Test func knowsThePositionsOfARecoverableChannel() throws {
        let store = try ClusterStore()
        try store.register()
        let without = try store.attach([], .recoverable)
        #expect(without.newest == nil && without.oldest == nil)
        let first = try store.open()
        let last = try store.open()
        let with = try store.attach([], .recoverable)
        #expect(with.newest == last && with.oldest == first)
        #expect(try store.attach().newest == nil)
        try store.call("XTRIM", store.messages, "MAXLEN", "0")
        let empty = try store.attach([], .recoverable)
        #expect(empty.newest == last && empty.oldest == nil)
    }

    @Test func beginsAStreamForAClientThatTracks() throws {
        let store = try ClusterStore()
        try store.register()
        try store.subscribe()
        let attachment = try store.attach(.stream)
        let start = try #require(attachment.newest)
        #expect(start.serial == 0 && attachment.oldest == nil && attachment.wasVacant)
        // Announced before the reply, so other nodes know it too.
        let messages = try store.live.takeMessages()
        #expect(messages.count == 1 && messages[0].hasSuffix(" \(start.stream) first"))
        #expect(try store.call("XLEN", store.messages) == .integer(0))
        #expect(try store.attach([.stream], .recoverable).newest == start)
        let first = message(in: .id(start.stream))
        #expect(try store.publish(first) == [.numbered(serial: 1)])
        // A new epoch begins a new stream; until then the sealed one is reported.
        let epoch = try store.register(run: "2").epoch
        #expect(try store.attach([], .recoverable).newest == start.with(serial: 1))
        let next = try #require(store.attach(.stream).newest)
        #expect(next.stream > epoch.since && next.serial == 0)
        // Without a message of its own it is found all the same, behind one of the sealed stream.
        #expect(try store.attach([.stream], .recoverable).newest == next)
        #expect(try store.attach([], .recoverable).newest == next)
        #expect(try store.publish(message(in: .unknown)) == [.placed(next.with(serial: 1))])
    }

    @Test func readsTheCounter() throws {
        let store = try ClusterStore()
        try store.register()
        #expect(try store.attach().counter == 0)
        #expect(try store.publish(message(in: .none)) == [.counted])
        #expect(try store.attach().counter == 1)
    }

    @Test func readsTheMembers() throws {
        let store = try ClusterStore()
        try store.register()
        try store.call("HSET", keys.memberInfos(ClusterStore.channel("x")), "u", "{\"name\":\"U\"}")
        let members = try store.attach(.members).members
        #expect(members.map(\.user) == ["u"])
        #expect(members.first?.info == Array("{\"name\":\"U\"}".utf8))
        #expect(try store.attach().members.isEmpty)
    }

    @Test("Each of several channels has the keys that its flags need")
    func attachesSeveralChannels() throws {
        let store = try ClusterStore()
        try store.register()
        let position = try store.open(message(on: "tracked"))
        try store.call("HSET", keys.memberInfos(ClusterStore.channel("members")), "u", "{}")
        let cached = ChannelRules(announcesCount: true, webhooks: [.occupancy, .cacheMisses])
        func subscriptions(
            _ name: String,
            _ count: Int,
            _ interests: PartitionCalls.Interests,
            _ rules: ChannelRules = .init()
        ) -> PartitionCalls.Subscriptions {
            .init(to: ClusterStore.channel(name), count: count, interests, rules)
        }
        let call = store.calls(of: "a").attach(to: [
            subscriptions("plain", 2, []), subscriptions("tracked", 3, .stream, .recoverable),
            subscriptions("cached", 4, .cachedEvent, cached), subscriptions("members", 5, .members),
            subscriptions("plain", 2, []),
        ])
        let attachments = try store.send(call) { ChannelAttachment.all($0) }
        #expect(attachments.map(\.subscriptionCount) == [2, 3, 4, 5, 2])
        #expect(attachments.map(\.wasVacant) == [true, true, true, true, false])
        #expect(attachments.map(\.newest) == [nil, position, nil, nil, nil])
        #expect(attachments.map(\.members.count) == [0, 0, 0, 1, 0])
        for (name, count) in ["plain": "2", "tracked": "3", "cached": "4", "members": "5"] {
            let hash = keys.subscriptions(ClusterStore.channel(name))
            #expect(try store.call("HGET", hash, "a") == .bulk(count))
        }
        #expect(try store.call("SCARD", keys.items(of: "a")) == .integer(5))
        #expect(try store.call("ZCARD", store.occupied) == .integer(4))
        let cacheMiss = keys.cacheMiss(ClusterStore.channel("cached"))
        #expect(try store.call("EXISTS", cacheMiss) == .integer(1))
        #expect(try store.call("XLEN", keys.webhooks) == .integer(2))
    }

    @Test func refusesANodeThatIsNotRegistered() throws {
        let store = try ClusterStore()
        try store.register("b")
        let (calls, channel) = (store.calls(of: "a"), ClusterStore.channel("x"))
        let fenced = RedisError("FENCED node a is not registered")
        let attach = calls.attach(to: [.init(to: channel, count: 1, .stream)])
        #expect(try store.refusal(of: attach) == fenced)
        #expect(try store.refusal(of: calls.detach(from: channel)) == fenced)
        for key in [store.occupied, store.subscriptions, store.messages, keys.items(of: "a")] {
            #expect(try store.call("EXISTS", key) == .integer(0))
        }
    }
}

extension ChannelRules {
    static let recoverable = ChannelRules(isRecoverable: true)
}
