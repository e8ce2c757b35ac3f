import RESP
import Redis
import TestRedis
import Testing

@Suite("Scripts: what is due") struct TimerScriptTests {
    private let keys = ClusterStore.keys
    private let channel = ClusterStore.channel("x")

    private func timers(
        _ store: ClusterStore,
        after last: StreamPosition? = nil
    ) throws -> DueWork {
        try store.heartbeat()
        return try store.send(store.calls(of: "a").timers(after: last)) { DueWork($0) }
    }

    @Test func isDoneByTheLeader() throws {
        let store = try ClusterStore()
        for node in ["a", "b"] { try store.register(node) }
        let timers = store.calls(of: "b").timers(after: nil)
        #expect(try store.refusal(of: timers) == RedisError("NOTLEADER node b does not lead"))
        try store.heartbeat("a")
        #expect(try store.refusal(of: timers)?.code == .notLeader)
        #expect(try self.timers(store).items.isEmpty)
    }

    @Test func passesOnWebhooksInTheirOrder() throws {
        let store = try ClusterStore()
        try store.register()
        let rules = ChannelRules(webhooks: .occupancy)
        let names = (0..<70).map { "c\($0)" }
        for name in names { try store.attach(to: name, [], rules) }
        let first = try timers(store)
        #expect(first.webhooks.count == 64 && first.waitingCount == 70 && first.droppedCount == 0)
        let second = try timers(store, after: first.webhooks.last?.id)
        #expect((first.webhooks + second.webhooks).map(\.channel.name) == names)
        let settle = store.calls(of: "a").settle(
            delivered: first.webhooks.map(\.id),
            dead: [second.webhooks[0].id]
        )
        #expect(try store.send(settle) { $0.integer } == 65)
        #expect(try store.send(settle) { $0.integer } == 0)
        #expect(try timers(store).webhooks == Array(second.webhooks.dropFirst()))
        let dead = try store.call("XRANGE", keys.deadWebhooks, "-", "+").elements
        let text = try #require(dead.first?.elements[1].elements[1].text)
        #expect(dead.count == 1 && text.hasPrefix("\(second.webhooks[0].id) occupied "))
        // A new epoch does not number them again.
        try store.register(run: "2")
        try store.attach(to: "last", [], rules)
        let last = try #require(timers(store).webhooks.last)
        #expect(last.channel.name == "last" && last.id.stream > first.webhooks[0].id.stream)
    }

    @Test func putsWebhooksAwayInAnyOrder() throws {
        let store = try ClusterStore()
        try store.register()
        for name in ["a", "b", "c"] {
            try store.attach(to: name, [], ChannelRules(webhooks: .occupancy))
        }
        let ids = try timers(store).webhooks.map(\.id)
        for id in [ids[2], ids[0]] {
            let settle = store.calls(of: "a").settle(delivered: [], dead: [id])
            #expect(try store.send(settle) { $0.integer } == 1)
        }
        #expect(try timers(store).webhooks.map(\.id) == [ids[1]])
        let dead = try store.call("XRANGE", keys.deadWebhooks, "-", "+").elements
        let texts = dead.map(\.elements[1].elements[1].text)
        #expect(texts.map { $0.prefix { $0 != " " } } == ["\(ids[2])", "\(ids[0])"])
    }

    @Test func dropsTheOldestWebhooksBeyondTheLimit() throws {
        let store = try ClusterStore(scripts: ClusterScripts(isSharded: false, webhooksMax: 3))
        try store.register()
        let rules = ChannelRules(webhooks: .occupancy)
        for name in ["a", "b", "c", "d", "e"] { try store.attach(to: name, [], rules) }
        let work = try timers(store)
        #expect(work.webhooks.map(\.channel.name) == ["c", "d", "e"])
        #expect(work.waitingCount == 3 && work.droppedCount == 2)
    }

    @Test func reportsCacheMissesOnceAMinute() throws {
        let store = try ClusterStore()
        try store.register()
        let rules = ChannelRules(webhooks: .cacheMisses)
        for _ in 0..<3 { try store.attach(.cachedEvent, rules) }
        #expect(try store.takeWebhooks() == ["miss"])
        try store.call("SET", keys.cacheMiss(channel), "1")
        try store.attach(.cachedEvent, rules)
        #expect(try store.takeWebhooks() == ["miss"])
        // An event in between.
        let caching = ClusterMessage.Caching(lifetime: 60, eventsMax: 1)
        try store.publish(message(in: .none, caching: caching))
        try store.attach(.cachedEvent, rules)
        #expect(try store.takeWebhooks().isEmpty)
        try store.call("DEL", store.cachedEvents)
        try store.attach(.cachedEvent, rules)
        #expect(try store.takeWebhooks() == ["miss"])
    }

    @Test func announcesCountsAtMostEveryFiveSecondsOnALargeChannel() throws {
        let store = try ClusterStore()
        for node in ["a", "b"] { try store.register(node) }
        try store.subscribe()
        let rules = ChannelRules(announcesCount: true, webhooks: .counts)
        for count in [1, 2, 2, 100, 101, 102, 103] { try store.attach(count: count, [], rules) }
        #expect(try store.takeAnnouncements() == [1, 2, 100, 101].map { "0 # - \($0)" })
        #expect(try timers(store).items.isEmpty)
        let announce = store.calls(of: "a").announceCount(of: channel, rules)
        #expect(try store.send(announce) { $0.integer } == 0)
        try store.makeDue()
        #expect(try timers(store).items == [.count(channel)])
        #expect(try store.send(announce) { $0.integer } == 1)
        #expect(try store.takeAnnouncements() == ["0 # - 103"])
        // Small again: at once, and nothing is left to announce.
        try store.attach(count: 104, [], rules)
        try store.attach(count: 50, [], rules)
        #expect(try store.call("ZCARD", keys.due) == .integer(0))
        try store.attach(by: "b", count: 1, [], rules)
        try store.detach(by: "b", rules)
        try store.detach(rules)
        #expect(try store.takeAnnouncements() == ["0 # - 50", "0 # - 51", "0 # - 50"])
        let counts = [1, 2, 100, 101, 103, 50, 51, 50, 0].map { "count \($0)" }
        #expect(try store.takeWebhooks() == counts)
    }

    @Test func trimsAndRenewsStreams() throws {
        let store = try ClusterStore()
        let time = try store.register().time
        for index in 0..<70 { _ = try store.open(message("e - \(time - 10_000) \(index)")) }
        let last = try store.open(message("e - \(time) z"))
        try store.call("EXPIRE", store.messages, "5")
        func trim(age: Int = 5_000) throws -> Int64? {
            let call = store.calls(of: "a").trim(channel, age: age, interval: 60_000)
            return try store.live.reply(to: store.live.connection.send(call)) { $0.integer }
        }
        #expect(try trim() == nil)
        try store.makeDue()
        #expect(try timers(store).items == [.trim(channel)])
        #expect(try trim() == 64)
        #expect(try trim() == 6)
        #expect(try trim() == nil)
        let kept = try store.call("XRANGE", store.messages, "-", "+").elements
        #expect(kept.map(\.elements[0].text) == [last.description])
        #expect(try store.call("TTL", store.messages).text.count == 5)
        // Without messages and subscriptions it is not renewed, but keeps its place.
        try store.makeDue()
        #expect(try trim(age: -60_000) == 1)
        try store.call("EXPIRE", store.messages, "5")
        try store.makeDue()
        #expect(try trim() == 0)
        #expect(try store.call("TTL", store.messages).text.count == 1)
        #expect(try store.open() == last.with(serial: last.serial + 1))
        try store.call("DEL", store.messages)
        try store.makeDue()
        #expect(try trim() == 0)
        #expect(try store.call("EXISTS", keys.due) == .integer(0))
    }
}
