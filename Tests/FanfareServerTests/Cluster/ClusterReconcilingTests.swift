import TestRedis
import Testing

@testable import FanfareServer

@Suite("Cluster: what has ended without Redis", .timeLimit(.minutes(1)))
struct ClusterReconcilingTests {
    @Test(
        "Members that left during a loss of Redis are removed behind it",
        arguments: [true, false]
    )
    func members(areOthersLeft: Bool) async throws {
        try await TestCluster.runRelayed { cluster, relay in
            let (here, there) = (cluster.nodes[0], cluster.nodes[1])
            let (watcher, _) = try await there.joined("presence-a", as: "watcher")
            let (ann, _) = try await here.joined("presence-a", as: "ann")
            #expect(try await watcher.nextText() == Notice.added("ann", "presence-a"))
            var others: [WebSocketWire] = []
            if areOthersLeft {
                others = [try await here.joined("presence-a", as: "bob").0]
                #expect(try await watcher.nextText() == Notice.added("bob", "presence-a"))
            }
            try await relay.set(.cut)
            ann.wire.reset()
            try await eventually {
                await here.metric("fanfare_connections") == others.count
            }
            try await relay.set(.open)
            #expect(try await watcher.nextText() == Notice.removed("ann", "presence-a"))
            try await watcher.expectNothing()
            let (_, users) = try await there.joined("presence-a", as: "cat")
            #expect(users == (areOthersLeft ? ["bob", "cat", "watcher"] : ["cat", "watcher"]))
            withExtendedLifetime(others) {}
        }
    }

    @Test("Channels and users without connections are not kept for the node")
    func channelsAndUsers() async throws {
        try await TestCluster.runRelayed { cluster, relay in
            let (client, _) = try await cluster.nodes[0].signedIn(as: "ann")
            try client.send(#"{"event":"pusher:subscribe","data":{"channel":"a"}}"#)
            #expect(try await client.nextText().contains("subscription_succeeded"))
            func keys(_ kind: String) throws -> Int {
                let reply = try cluster.redis.command("KEYS", "f:{*}:\(kind):1*")
                return Int(reply.dropFirst()) ?? -1
            }
            try await eventually { try keys("n") == 1 && keys("u") == 1 && keys("o") == 1 }
            try await relay.set(.cut)
            client.wire.reset()
            try await eventually { await cluster.nodes[0].metric("fanfare_connections") == 0 }
            try await relay.set(.open)
            try await eventually { try keys("n") == 0 && keys("u") == 0 && keys("o") == 0 }
        }
    }

    @Test("What Redis has by a fault is removed with the next registration")
    func leftovers() async throws {
        try await TestCluster.runRelayed { cluster, relay in
            let node = cluster.nodes[0]
            let (ann, _) = try await node.joined("presence-a", as: "ann")
            let members = try cluster.redis.keys("f:{*}:p:1:presence-a")
            let users = try cluster.redis.keys("f:{*}:r:node-0*:1:presence-a")
            let (key, local) = (try #require(members.first), try #require(users.first))
            // A departure that a new primary does not know of.
            try cluster.redis.command("HSET", key, "ghost", "1")
            try cluster.redis.command("SADD", local, "ghost")
            try await relay.set(.cut)
            try await relay.set(.open)
            try await eventually { try cluster.redis.command("HEXISTS", key, "ghost") == ":0" }
            #expect(try cluster.redis.command("HEXISTS", key, "ann") == ":1")
            withExtendedLifetime(ann) {}
        }
    }
}

extension RedisProcess {
    /// The keys of a pattern.
    fileprivate func keys(_ pattern: String) throws -> [String] {
        let script = "return redis.status_reply(table.concat(redis.call('KEYS', ARGV[1]), ' '))"
        return try command("EVAL", script, "0", pattern).dropFirst().split(separator: " ")
            .map(String.init)
    }
}
