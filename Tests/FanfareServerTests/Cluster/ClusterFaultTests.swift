import BrokerConfiguration
import PusherProtocol
import TestRedis
import Testing

@testable import FanfareServer

@Suite("Cluster: faults under load") struct ClusterFaultTests {
    @Test(
        "While connections are killed, each event comes once and in one order, on all nodes",
        .timeLimit(.minutes(2)),
        arguments: [1, 2]
    )
    func killedConnections(loops: Int) async throws {
        try await TestCluster.run(loops: loops) {
            $0.cluster.redis.patience = 30
        } _: { cluster in
            let redis = cluster.redis
            let channels = ["a", "b", "c"]
            var trackers: [[TrackingWire]] = []
            var clients: [[WebSocketWire]] = []
            for channel in channels {
                var (tracking, stock): ([TrackingWire], [WebSocketWire]) = ([], [])
                for node in cluster.nodes {
                    tracking.append(try await TrackingWire(node, channel))
                    stock.append(try await node.subscribed(to: channel).0)
                }
                trackers.append(tracking)
                clients.append(stock)
            }
            let count = 60
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (number, node) in cluster.nodes.enumerated() {
                    for channel in channels {
                        group.addTask {
                            for index in 0..<count {
                                let body =
                                    #"{"name":"e","channels":["\#(channel)"],"data":"\#(number) \#(index)","idempotency_key":"\#(number) \#(index)"}"#
                                let answer = try await Wire(port: node.port)
                                    .ask(SignedRequest(path: "/apps/1/events", body: body))
                                #expect(answer.status == 200, "\(answer.body)")
                            }
                        }
                    }
                }
                for _ in 0..<10 {
                    try await Task.sleep(for: .milliseconds(30))
                    try redis.command("CLIENT", "KILL", "TYPE", "pubsub")
                }
                try await group.waitForAll()
            }
            let total = count * cluster.nodes.count
            for (index, channel) in channels.enumerated() {
                let seen = try await trackers[index][0].next(total)
                #expect(try await trackers[index][1].next(total) == seen)
                for client in clients[index] {
                    for (serial, data) in seen.enumerated() {
                        let text = try await client.nextText()
                        let expected = eventText("e", channel, data: data).dropLast()
                        #expect(text == expected + ",\"serial\":\(serial + 1)}")
                    }
                }
                for number in cluster.nodes.indices {
                    let own = seen.compactMap(\.self).filter { $0.hasPrefix("\(number) ") }
                    #expect(own == (0..<count).map { "\(number) \($0)" })
                }
            }
        }
    }

    @Test("Behind the loss of all data the members are registered again, and gaps are told")
    func emptiedStore() async throws {
        try await TestCluster.run { cluster in
            let (here, there) = (cluster.nodes[0], cluster.nodes[1])
            let tracking = try await TrackingWire(here, "a")
            let (client, _) = try await there.subscribed(to: "b")
            try cluster.redis.command("FLUSHALL")
            let error = try await client.nextText()
            #expect(error.contains("4200"), "\(error)")
            let start = try await tracking.restart()
            #expect(start.continuity == .gap(RecoveryGap(.unknownStream)))
            #expect(try await there.trigger("e", "1", on: "a").status == 200)
            #expect(try await tracking.client.nextText().hasSuffix(#","serial":1}"#))
        }
    }

    @Test("Redis's own refusal reaches the publisher, and subscribers still receive")
    func outOfMemory() async throws {
        try await TestCluster.run { cluster in
            let tracking = try await TrackingWire(cluster.nodes[0], "a")
            let redis = cluster.redis
            try redis.command("CONFIG", "SET", "maxmemory", "1")
            let answer = try await cluster.nodes[1].trigger("e", "1", on: "a")
            #expect(answer.status == 503 && answer.head.contains("Retry-After: 1\r\n"))
            #expect(answer.body.contains("OOM"), "\(answer.body)")
            try redis.command("CONFIG", "SET", "maxmemory", "0")
            #expect(try await cluster.nodes[1].trigger("e", "2", on: "a").status == 200)
            #expect(try await tracking.next() == "2")
        }
    }

    @Test(
        "Who subscribes while Redis has no memory is subscribed when it has some again",
        arguments: ["presence-a", "private-cache-a"]
    )
    func subscribesBehindAShortage(channel: String) async throws {
        try await TestCluster.run { cluster in
            let (node, redis) = (cluster.nodes[0], cluster.redis)
            func subscribe(_ user: String) async throws -> WebSocketWire {
                let (client, socketID) = try await node.connected()
                let data = channel.hasPrefix("presence-") ? #"{"user_id":"\#(user)"}"# : nil
                try client.send(subscribeMessage(to: channel, socketID: socketID, data: data))
                return client
            }
            // The node knows the channel: it asks only for what the next subscriber needs.
            let ann = try await subscribe("ann")
            #expect(try await ann.nextText().contains("subscription_succeeded"))
            try redis.command("CONFIG", "SET", "maxmemory", "1")
            let bob = try await subscribe("bob")
            try await eventually { try redis.command("INFO", "errorstats").contains("OOM") }
            try redis.command("CONFIG", "SET", "maxmemory", "0")
            var text = ""
            // A cache channel without an event says so to whoever comes first.
            repeat { text = try await bob.nextText() } while text.contains("cache_miss")
            #expect(text.contains("subscription_succeeded"), "\(text)")
        }
    }
}
