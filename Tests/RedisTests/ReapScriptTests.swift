import RESP
import Redis
import TestRedis
import Testing

@Suite("Scripts: dead nodes") struct ReapScriptTests {
    private let keys = ClusterStore.keys
    private let channel = ClusterStore.channel("x")
    private let rules = ChannelRules(webhooks: [.occupancy, .members])

    private func condemn(_ node: String, by caller: String, _ store: ClusterStore) throws
        -> Condemnation
    {
        try store.send(store.calls(of: caller).condemn(node, lease: 10_000)) { Condemnation($0) }
    }

    /// Lets a node's lease be over.
    private func kill(_ node: String, _ store: ClusterStore) throws {
        try store.call("ZADD", keys.nodes, "1", node)
    }

    private func reap(_ node: String, by caller: String, _ store: ClusterStore) throws -> Reaping {
        try store.send(store.calls(of: caller).reap(channel, of: node, rules)) { Reaping($0) }
    }

    @Test func removesWhatADeadNodeHad() throws {
        let store = try ClusterStore()
        for node in ["a", "b"] {
            try store.register(node)
            try store.attach(by: node, [], rules)
        }
        let user = ClusterUser(app: "1", id: "u")
        try store.send(store.calls(of: "b").setConnections(of: user, to: 2)) { UserConnections($0) }
        for number in 0..<70 { try store.join("u\(number)", by: "b", rules) }
        try store.join("u1", by: "a", rules)
        #expect(try store.takeWebhooks().count == 64)
        #expect(try store.takeWebhooks().count == 7)
        try store.subscribe()
        #expect(try condemn("b", by: "a", store) == .alive)
        try kill("b", store)
        #expect(try store.heartbeat("a").dead == ["b"])
        #expect(
            try condemn("b", by: "a", store) == .items([.channel(channel), .user(user)])
        )
        // Fenced from now on, and only one node at a time removes the rest.
        #expect(try store.heartbeat("b").isRegistered == false)
        try store.register("c")
        #expect(try condemn("b", by: "c", store) == .handledElsewhere)
        var gone: Int64 = 0
        let first = try reap("b", by: "a", store)
        #expect(first.hasMore)
        gone += first.memberCount
        let second = try reap("b", by: "a", store)
        #expect(!second.hasMore)
        gone += second.memberCount
        // One user is also on another node.
        #expect(gone == 69)
        #expect(try reap("b", by: "a", store) == reap("b", by: "c", store))
        let removals = try store.takeAnnouncements()
        #expect(removals.count == 69 && Set(removals).count == 69)
        #expect(!removals.contains("0 - - u1"))
        // The webhooks do not wait, and each is there once.
        let webhooks = try store.takeWebhooks() + store.takeWebhooks()
        #expect(webhooks.count == 69 && Set(webhooks).count == 69)
        #expect(webhooks.allSatisfy { $0.hasPrefix("removed u") })
        #expect(try store.attach(by: "a", [], rules).subscriptionCount == 1)

        #expect(try condemn("b", by: "a", store) == .items([.user(user)]))
        let connections = try store.send(store.calls(of: "a").reap(user, of: "b")) {
            UserConnections($0)
        }
        #expect(connections.count == 0)
        #expect(try condemn("b", by: "a", store) == .forgotten)
        #expect(try condemn("b", by: "a", store) == .unknown)
        #expect(try store.heartbeat("a").dead.isEmpty)
        for key in [keys.items(of: "b"), keys.users(of: "b", on: channel), keys.reaper(of: "b")] {
            #expect(try store.call("EXISTS", key) == .integer(0))
        }
    }

    @Test func vacatesTheChannelAfterItsMembers() throws {
        let store = try ClusterStore()
        try store.register("a")
        try store.register("b")
        try store.attach(by: "b", [], rules)
        for user in ["v", "u"] { try store.join(user, by: "b", rules) }
        _ = try store.takeWebhooks()
        try kill("b", store)
        _ = try condemn("b", by: "a", store)
        #expect(try reap("b", by: "a", store).memberCount == 2)
        #expect(try store.takeWebhooks() == ["removed u", "removed v", "vacated"])
        #expect(try store.call("EXISTS", store.occupied) == .integer(0))
    }

    @Test func lostGhostsThatReturnAreNotReported() throws {
        let store = try ClusterStore()
        try store.register("a")
        try store.register("b")
        try store.attach(by: "b", [], rules)
        try store.join("u", by: "b", rules)
        _ = try store.takeWebhooks()
        try kill("b", store)
        _ = try condemn("b", by: "a", store)
        _ = try reap("b", by: "a", store)
        // The client reconnects to another node before the leader has looked.
        try store.attach(by: "a", [], rules)
        try store.join("u", by: "a", rules)
        #expect(try store.takeWebhooks().isEmpty)
    }

    @Test func sparesANodeThatIsRegistered() throws {
        let store = try ClusterStore()
        for node in ["a", "b"] { try store.register(node) }
        let user = ClusterUser(app: "1", id: "u")
        try store.attach(by: "b")
        try store.join("u", by: "b")
        let alive = RedisError("ALIVE node b is registered")
        let calls = store.calls(of: "a")
        #expect(try store.refusal(of: calls.reap(channel, of: "b")) == alive)
        #expect(try store.refusal(of: calls.reap(user, of: "b")) == alive)
        // It was only paused: condemned, but back before anything was removed.
        try kill("b", store)
        #expect(try condemn("b", by: "a", store) == .items([.channel(channel)]))
        #expect(try store.register("b").wasRegistered == false)
        #expect(try store.refusal(of: calls.reap(channel, of: "b")) == alive)
        #expect(try condemn("b", by: "a", store) == .alive)
        // What is out of date it removes itself.
        #expect(try reap("b", by: "b", store).memberCount == 1)
        #expect(try store.call("SMEMBERS", keys.items(of: "b")) == .list(.set, [.bulk(".")]))
    }

    @Test func endsANodeThatStops() throws {
        let store = try ClusterStore()
        try store.register("a")
        #expect(try store.heartbeat("a").leads)
        #expect(try condemn("a", by: "a", store) == .forgotten)
        try store.register("b")
        let heartbeat = try store.heartbeat("b")
        #expect(heartbeat.leads && heartbeat.dead.isEmpty)
        #expect(try store.call("ZCARD", keys.nodes) == .integer(1))
    }
}
