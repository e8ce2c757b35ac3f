import Broker
import BrokerConfiguration
import TestRedis
import Testing

@testable import FanfareServer

@Suite("Cluster: watchlists", .timeLimit(.minutes(1))) struct ClusterWatchlistTests {
    private static func enable(_ configuration: inout Configuration) {
        configuration.apps[0].features.watchlist = true
    }

    private func end(_ client: WebSocketWire) async throws {
        try client.send(opcode: 8, [0x03, 0xE8])
        #expect(try await client.next().opcode == 8)
    }

    @Test(
        "A watchlist gets the status of its users on all nodes, then each change",
        arguments: [1, 3]
    )
    func changes(loops: Int) async throws {
        try await TestCluster.run(loops: loops, Self.enable) { cluster in
            let (here, there) = (cluster.nodes[0], cluster.nodes[1])
            let (ann, _) = try await here.signedIn(as: "ann")
            try await eventually { try cluster.redis.command("PUBSUB", "CHANNELS") == "*1" }
            let (watcher, _) = try await there.signedIn(
                as: "zoe",
                watching: ["ann", "bob", "cid", "dan"]
            )
            let first = try await watcher.nextText()
            #expect(first == watchlistEvents(online: ["ann"], offline: ["bob", "cid", "dan"]))
            let (bob, _) = try await here.signedIn(as: "bob")
            #expect(try await watcher.nextText() == watchlistEvents(online: ["bob"]))
            // A second connection of a user, to the other node, changes nothing, nor does the end of the first.
            let (secondBob, _) = try await there.signedIn(as: "bob")
            try await end(bob)
            try await watcher.expectNothing()
            try await end(secondBob)
            #expect(try await watcher.nextText() == watchlistEvents(offline: ["bob"]))
            // A watcher that comes now is told the same.
            let (other, _) = try await here.signedIn(as: "yan", watching: ["bob", "zoe"])
            #expect(
                try await other.nextText() == watchlistEvents(online: ["zoe"], offline: ["bob"])
            )
            try await ann.expectNothing()
            try await watcher.expectNothing()
            for client in [ann, watcher, other] { client.wire.reset() }
            try await eventually { try cluster.redis.command("PUBSUB", "CHANNELS") == "*0" }
        }
    }

    @Test("A user that reconnects to another node within three seconds stays online")
    func grace() async throws {
        try await TestCluster.run(Self.enable) { cluster in
            let (watcher, _) = try await cluster.nodes[0].signedIn(
                as: "zoe",
                watching: ["ann", "bob"]
            )
            #expect(try await watcher.nextText() == watchlistEvents(offline: ["ann", "bob"]))
            var clients: [WebSocketWire] = []
            for user in ["ann", "bob"] {
                clients.append(try await cluster.nodes[0].signedIn(as: user).0)
                #expect(try await watcher.nextText() == watchlistEvents(online: [user]))
            }
            let start = ContinuousClock.now
            for client in clients { try await end(client) }
            let (back, _) = try await cluster.nodes[1].signedIn(as: "ann")
            // Only the user that stays away is reported as offline.
            #expect(try await watcher.nextText() == watchlistEvents(offline: ["bob"]))
            #expect(ContinuousClock.now - start > .milliseconds(2_900))
            try await watcher.expectNothing()
            try await back.expectNothing()
        }
    }

    @Test(
        "Behind a loss of the connection the watchers are told of the difference",
        arguments: [1, 2]
    )
    func difference(loops: Int) async throws {
        try await TestCluster.runRelayed(loops: loops, Self.enable) { cluster, relay in
            let (here, there) = (cluster.nodes[0], cluster.nodes[1])
            let (ann, _) = try await there.signedIn(as: "ann")
            try await eventually { try cluster.redis.command("PUBSUB", "CHANNELS") == "*1" }
            let (watcher, _) = try await here.signedIn(as: "zoe", watching: ["ann", "bob", "cid"])
            #expect(
                try await watcher.nextText()
                    == watchlistEvents(online: ["ann"], offline: ["bob", "cid"])
            )
            try await relay.set(.cut)
            let (bob, _) = try await there.signedIn(as: "bob")
            // It is told when the connection is back.
            let (late, _) = try await here.signedIn(as: "yan", watching: ["bob", "cid"])
            try await late.expectNothing()
            try await relay.set(.open)
            #expect(try await watcher.nextText() == watchlistEvents(online: ["bob"]))
            #expect(
                try await late.nextText() == watchlistEvents(online: ["bob"], offline: ["cid"])
            )
            try await watcher.expectNothing()
            for client in [ann, bob] { try await client.expectNothing() }
        }
    }

    @Test("The users of a dead node are offline, and online again when it was only cut off")
    func deadNode() async throws {
        let redis = try RedisProcess()
        let relay = RedisRelay(to: redis.socket)
        defer { relay.end() }
        func change(_ configuration: inout Configuration) {
            Self.enable(&configuration)
            configuration.cluster.lease = 4
        }
        try await TestCluster.run(nodes: 1, redis: redis, change) { cluster in
            let (watcher, _) = try await cluster.nodes[0].signedIn(as: "zoe", watching: ["ann"])
            #expect(try await watcher.nextText() == watchlistEvents(offline: ["ann"]))
            try await TestCluster.run(nodes: 1, at: relay.address, redis: redis, change) { other in
                let (ann, _) = try await other.nodes[0].signedIn(as: "ann")
                #expect(try await watcher.nextText() == watchlistEvents(online: ["ann"]))
                try await relay.set(.cut)
                #expect(try await watcher.nextText() == watchlistEvents(offline: ["ann"]))
                try await relay.set(.open)
                #expect(try await watcher.nextText() == watchlistEvents(online: ["ann"]))
                try await ann.expectNothing()
            }
        }
    }
}
