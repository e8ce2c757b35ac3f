import Broker
import BrokerConfiguration
import TestRedis
import Testing

@testable import FanfareServer

/// Several, so that some homes are on another shard than the clients.
private let channels = ["presence-a", "presence-b", "presence-c"]

@Suite("Cluster: presence") struct ClusterPresenceTests {
    @Test("A new member gets the list of all nodes, and all others a notice", arguments: [1, 2])
    func arrivals(loops: Int) async throws {
        try await TestCluster.run(loops: loops) { cluster in
            let (here, there) = (cluster.nodes[0], cluster.nodes[1])
            for channel in channels {
                let (ann, first) = try await here.joined(channel, as: "ann", info: "1")
                #expect(first == ["ann"])
                let (bob, second) = try await there.joined(channel, as: "bob", info: "2")
                #expect(second == ["ann", "bob"])
                #expect(try await ann.nextText() == Notice.added("bob", channel, info: "2"))
                let (cat, third) = try await here.joined(channel, as: "cat")
                #expect(third == ["ann", "bob", "cat"])
                for client in [ann, bob] {
                    #expect(try await client.nextText() == Notice.added("cat", channel))
                }
                cat.wire.reset()
                for client in [ann, bob] {
                    #expect(try await client.nextText() == Notice.removed("cat", channel))
                    try await client.expectNothing()
                }
            }
        }
    }

    @Test("A user on several nodes is one member", arguments: [1, 2])
    func countsUsersOnce(loops: Int) async throws {
        try await TestCluster.run(loops: loops) {
            // At once; `returning` has the default.
            $0.apps[0].features.presenceGrace = 0
        } _: { cluster in
            for channel in channels {
                let (watcher, _) = try await cluster.nodes[0].joined(channel, as: "watcher")
                var devices: [WebSocketWire] = []
                for node in cluster.nodes + cluster.nodes {
                    let (device, users) = try await node.joined(channel, as: "ann", info: "1")
                    #expect(users == ["ann", "watcher"])
                    devices.append(device)
                }
                #expect(try await watcher.nextText() == Notice.added("ann", channel, info: "1"))
                for device in devices.dropLast() { device.wire.reset() }
                try await watcher.expectNothing()
                devices.last?.wire.reset()
                #expect(try await watcher.nextText() == Notice.removed("ann", channel))
            }
        }
    }

    @Test("The others see nothing of a page that returns, to whichever node", arguments: [0, 1])
    func returning(to place: Int) async throws {
        try await TestCluster.run { cluster in
            let (here, there) = (cluster.nodes[0], cluster.nodes[1])
            let channel = "presence-a"
            let (near, _) = try await here.joined(channel, as: "near")
            let (far, _) = try await there.joined(channel, as: "far")
            #expect(try await near.nextText() == Notice.added("far", channel))
            let (page, socketID) = try await here.connected()
            _ = try await page.join(channel, as: "ann", info: "1", socketID: socketID)
            for client in [near, far] {
                #expect(try await client.nextText() == Notice.added("ann", channel, info: "1"))
            }
            try page.unsubscribe(from: channel)
            try await page.expectNothing()
            // Whoever asks, or joins, meanwhile sees what the members see.
            #expect(try await there.users(of: channel) == ["ann", "far", "near"])
            let (next, list) = try await cluster.nodes[place].joined(channel, as: "ann", info: "1")
            #expect(list == ["ann", "far", "near"])
            // Behind the end of the grace.
            try await Task.sleep(for: .milliseconds(3_200))
            for client in [near, far] { try await client.expectNothing() }
            let left = ContinuousClock.now
            next.wire.reset()
            for client in [near, far] {
                #expect(try await client.nextText() == Notice.removed("ann", channel))
                try await client.expectNothing()
            }
            #expect(left.duration(to: .now) > .seconds(2.5))
        }
    }

    @Test("Who returns to the same node with another info leaves and joins")
    func changed() async throws {
        try await TestCluster.run { cluster in
            let (watcher, _) = try await cluster.nodes[1].joined("presence-a", as: "watcher")
            let (page, socketID) = try await cluster.nodes[0].connected()
            _ = try await page.join("presence-a", as: "ann", info: "1", socketID: socketID)
            #expect(try await watcher.nextText() == Notice.added("ann", "presence-a", info: "1"))
            try page.unsubscribe(from: "presence-a")
            let users = try await page.join("presence-a", as: "ann", info: "2", socketID: socketID)
            #expect(users == ["ann", "watcher"])
            #expect(try await watcher.nextText() == Notice.removed("ann", "presence-a"))
            #expect(try await watcher.nextText() == Notice.added("ann", "presence-a", info: "2"))
            try await watcher.expectNothing()
        }
    }

    @Test("A member of this node that departs makes room on a full channel")
    func departingMakesRoom() async throws {
        try await TestCluster.run {
            $0.apps[0].limits.membersMax = 2
        } _: { cluster in
            let (ann, _) = try await cluster.nodes[1].joined("presence-a", as: "ann")
            let (bob, _) = try await cluster.nodes[0].joined("presence-a", as: "bob")
            #expect(try await ann.nextText() == Notice.added("bob", "presence-a"))
            try bob.unsubscribe(from: "presence-a")
            try await bob.expectNothing()
            let (cat, users) = try await cluster.nodes[0].joined("presence-a", as: "cat")
            #expect(users == ["ann", "cat"])
            #expect(try await ann.nextText() == Notice.removed("bob", "presence-a"))
            #expect(try await ann.nextText() == Notice.added("cat", "presence-a"))
            try await cat.expectNothing()
        }
    }

    @Test("The maximum of members is that of all nodes together")
    func membersMax() async throws {
        try await TestCluster.run {
            $0.apps[0].limits.membersMax = 2
        } _: { cluster in
            let (ann, _) = try await cluster.nodes[0].joined("presence-a", as: "ann")
            let (bob, _) = try await cluster.nodes[1].joined("presence-a", as: "bob")
            for node in cluster.nodes {
                let (client, socketID) = try await node.connected()
                let data = #"{"user_id":"cat"}"#
                try client.send(subscribeMessage(to: "presence-a", socketID: socketID, data: data))
                #expect(try await client.nextText().contains("pusher:subscription_error"))
                // A member has room, with another connection.
                let (_, users) = try await node.joined("presence-a", as: "ann")
                #expect(users == ["ann", "bob"])
            }
            #expect(try await ann.nextText() == Notice.added("bob", "presence-a"))
            for client in [ann, bob] { try await client.expectNothing() }
        }
    }

    @Test("A client's event has its user on all nodes")
    func clientEvents() async throws {
        try await TestCluster.run { cluster in
            let (ann, _) = try await cluster.nodes[0].joined("presence-a", as: "ann")
            let (bob, _) = try await cluster.nodes[1].joined("presence-a", as: "bob")
            #expect(try await ann.nextText() == Notice.added("bob", "presence-a"))
            try ann.publish("client-e", "presence-a", json: "1")
            let expected = eventText("client-e", "presence-a", data: "1", userID: "ann")
            #expect(try await bob.nextText() == expected)
        }
    }

    @Test("Joining and leaving in the same moment leaves no ghosts", arguments: [1, 2])
    func ghosts(loops: Int) async throws {
        try await TestCluster.run(loops: loops) { cluster in
            let (watcher, _) = try await cluster.nodes[1].joined("presence-a", as: "watcher")
            for round in 0..<20 {
                let (client, socketID) = try await cluster.nodes[0].connected()
                let data = #"{"user_id":"ann"}"#
                let subscribe = subscribeMessage(to: "presence-a", socketID: socketID, data: data)
                try client.send(subscribe)
                if round % 2 == 0 {
                    try client.send(
                        #"{"event":"pusher:unsubscribe","data":{"channel":"presence-a"}}"#
                    )
                    try client.send(subscribe)
                }
                client.wire.reset()
            }
            // Behind everything else.
            let (bob, _) = try await cluster.nodes[0].joined("presence-a", as: "bob")
            var present: Set<String> = []
            while true {
                let text = try await watcher.nextText()
                let match = try #require(text.firstMatch(of: /\\"user_id\\":\\"(\w+)\\"/))
                if text.contains("member_added") {
                    #expect(present.insert(String(match.1)).inserted)
                } else {
                    #expect(present.remove(String(match.1)) != nil)
                }
                if present == ["bob"] { break }
            }
            try await eventually {
                let (other, users) = try await cluster.nodes[1].joined("presence-a", as: "watcher")
                other.wire.reset()
                return users == ["bob", "watcher"]
            }
            bob.wire.reset()
        }
    }

    @Test("Behind a loss of the connection the members are told of the difference")
    func difference() async throws {
        try await TestCluster.runRelayed { cluster, relay in
            let (here, there) = (cluster.nodes[0], cluster.nodes[1])
            let (ann, _) = try await here.joined("presence-a", as: "ann")
            let (bob, _) = try await there.joined("presence-a", as: "bob")
            #expect(try await ann.nextText() == Notice.added("bob", "presence-a"))
            try await relay.set(.cut)
            bob.wire.reset()
            let (cat, users) = try await there.joined("presence-a", as: "cat")
            #expect(users.contains("ann"))
            try await relay.set(.open)
            var notices: Set<String> = []
            for _ in 0..<2 { notices.insert(try await ann.nextText()) }
            #expect(
                notices == [
                    Notice.removed("bob", "presence-a"), Notice.added("cat", "presence-a"),
                ]
            )
            try await ann.expectNothing()
            // The node may hear of the cut before or after bob has left.
            if users.contains("bob") {
                #expect(try await cat.nextText() == Notice.removed("bob", "presence-a"))
            }
            try await cat.expectNothing()
        }
    }

    @Test(
        "The members of a dead node are removed, and of a node that stops at once",
        .timeLimit(.minutes(1))
    )
    func deadNodes() async throws {
        let redis = try RedisProcess()
        let relay = RedisRelay(to: redis.socket)
        defer { relay.end() }
        try await TestCluster.run(nodes: 1, redis: redis) {
            $0.cluster.lease = 4
        } _: { cluster in
            let (watcher, _) = try await cluster.nodes[0].joined("presence-a", as: "watcher")
            try await TestCluster.run(nodes: 1, redis: redis) { other in
                let (ann, _) = try await other.nodes[0].joined("presence-a", as: "ann")
                #expect(try await watcher.nextText() == Notice.added("ann", "presence-a"))
                try await ann.expectNothing()
            }
            let start = ContinuousClock.now
            #expect(try await watcher.nextText() == Notice.removed("ann", "presence-a"))
            #expect(ContinuousClock.now - start < .seconds(2))
            try await TestCluster.run(nodes: 1, at: relay.address, redis: redis) { other in
                let (bob, _) = try await other.nodes[0].joined("presence-a", as: "bob")
                #expect(try await watcher.nextText() == Notice.added("bob", "presence-a"))
                // As a node that has died.
                try await relay.set(.cut)
                #expect(try await watcher.nextText() == Notice.removed("bob", "presence-a"))
                // It was only cut off.
                try await relay.set(.open)
                #expect(try await watcher.nextText() == Notice.added("bob", "presence-a"))
                try await bob.expectNothing()
            }
        }
    }
}
