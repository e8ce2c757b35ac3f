import Broker
import BrokerConfiguration
import HTTP1
import TestRedis
import Testing
import Webhooks

@testable import FanfareServer

@Suite("Cluster: webhooks", .timeLimit(.minutes(1))) struct ClusterWebhookTests {
    /// Runs a cluster whose app sends a backend the webhooks that `change` selects.
    private func run(
        loops: Int = 2,
        _ change: @escaping (inout WebhookConfiguration) -> Void = { _ in },
        _ body: (TestCluster, WebhookReceiver) async throws -> Void
    ) async throws {
        let receiver = try WebhookReceiver()
        try await TestCluster.run(loops: loops) { configuration in
            configuration.apps = [.withWebhooks(.to(receiver.url(), change))]
            configuration.apps[0].features.subscriptionCount = true
        } _: { cluster in
            try await body(cluster, receiver)
            try await eventually { await waiting(in: cluster) == 0 }
        }
        await receiver.stop()
        // Nothing comes twice, also from the nodes that stop.
        let ids = receiver.requests.compactMap { $0.fields["X-Fanfare-Webhook-ID"] }
        #expect(Set(ids).count == receiver.requests.count)
    }

    private func waiting(in cluster: TestCluster) async -> Int {
        var sum = 0
        for node in cluster.nodes {
            sum += await node.metric("fanfare_cluster_webhooks_waiting") ?? 0
        }
        return sum
    }

    private func event(_ name: String, _ channel: String, _ rest: String = "") -> String {
        #"{"name":"\#(name)","channel":"\#(channel)"\#(rest)}"#
    }

    @Test("Each transition is told once for all nodes", arguments: [1, 2])
    func transitions(loops: Int) async throws {
        try await run(loops: loops) { cluster, receiver in
            let channel = "presence-a"
            let (here, there) = (cluster.nodes[0], cluster.nodes[1])
            // The channel of a user has none.
            let (user, _) = try await here.signedIn(as: "eve")
            try user.send(
                ##"{"event":"pusher:subscribe","data":{"channel":"#server-to-user-eve"}}"##
            )
            #expect(try await user.nextText().contains("subscription_succeeded"))
            let (ann, _) = try await here.joined(channel, as: "ann")
            let arrival = [
                event("channel_occupied", channel),
                event("member_added", channel, #","user_id":"ann""#),
            ]
            #expect(try await receiver.events(2) == arrival)
            let (second, _) = try await there.joined(channel, as: "ann")
            let (bob, _) = try await there.joined(channel, as: "bob")
            #expect(
                try await receiver.events(3).dropFirst(2)
                    == [event("member_added", channel, #","user_id":"bob""#)]
            )
            // Still a member, with a connection to the other node.
            ann.wire.reset()
            bob.wire.reset()
            #expect(
                try await receiver.events(4).dropFirst(3)
                    == [event("member_removed", channel, #","user_id":"bob""#)]
            )
            second.wire.reset()
            #expect(
                try await receiver.events(6).dropFirst(4)
                    == [
                        event("member_removed", channel, #","user_id":"ann""#),
                        event("channel_vacated", channel),
                    ]
            )
        }
    }

    @Test("Who comes back to another node within three seconds has not left")
    func departures() async throws {
        try await run { cluster, receiver in
            let channel = "presence-a"
            var (client, _) = try await cluster.nodes[0].joined(channel, as: "ann")
            _ = try await receiver.events(2)
            for round in 1...4 {
                client.wire.reset()
                (client, _) = try await cluster.nodes[round % 2].joined(channel, as: "ann")
            }
            // All of them are due by now.
            try await Task.sleep(for: .seconds(4))
            client.wire.reset()
            #expect(
                try await receiver.events(4)
                    == [
                        event("channel_occupied", channel),
                        event("member_added", channel, #","user_id":"ann""#),
                        event("member_removed", channel, #","user_id":"ann""#),
                        event("channel_vacated", channel),
                    ]
            )
        }
    }

    @Test(
        "Client events, cache misses and counts are told once, of the channels that are asked for"
    )
    func otherKinds() async throws {
        try await run {
            $0.events = [.clientEvent, .cacheMiss, .subscriptionCount]
            $0.channelSuffix = "-x"
        } _: { cluster, receiver in
            let (here, there) = (cluster.nodes[0], cluster.nodes[1])
            let (sender, socketID) = try await here.subscribed(to: "private-x")
            #expect(
                try await receiver.events(1) == [
                    event("subscription_count", "private-x", #","subscription_count":1"#)
                ]
            )
            var clients = [try await there.subscribed(to: "private-x").0]
            #expect(
                try await receiver.events(2).last
                    == event("subscription_count", "private-x", #","subscription_count":2"#)
            )
            try sender.publish("client-a", "private-x", json: #"{"n":[1,2]}"#)
            #expect(
                try await receiver.events(3).last
                    == event(
                        "client_event",
                        "private-x",
                        #","event":"client-a","data":"{\"n\":[1,2]}","socket_id":"\#(socketID)""#
                    )
            )
            for node in cluster.nodes {
                for channel in ["cache-y", "cache-x"] {
                    clients.append(try await node.subscribed(to: channel).0)
                }
            }
            let cached = try await receiver.events(6).dropFirst(3)
            #expect(cached.filter { $0 == event("cache_miss", "cache-x") }.count == 1)
            #expect(!cached.joined().contains("cache-y"), "\(cached)")
            withExtendedLifetime(clients) {}
        }
    }

    @Test("A batch names all of its events")
    func batches() async throws {
        let receiver = try WebhookReceiver()
        try await TestCluster.run { configuration in
            configuration.apps = [.withWebhooks(.to(receiver.url()) { $0.isBatching = true })]
        } _: { cluster in
            let names = (0..<40).map { "c\($0)" }
            let (client, _) = try await cluster.nodes[1].connected()
            try await client.subscribe(to: names)
            try await eventually {
                let text = receiver.events.joined()
                return names.allSatisfy { text.contains(event("channel_occupied", $0)) }
            }
            let requests = receiver.requests
            #expect(requests.count < names.count)
            for request in requests {
                let ids = try #require(request.fields["X-Fanfare-Webhook-ID"])
                let count = request.events.matches(of: /"name"/).count
                #expect(ids.split(separator: ", ").count == count)
                #expect(request.isSigned(with: "app-secret"))
            }
            #expect(Set(requests.map { $0.fields["X-Delivery-Id"] }).count == requests.count)
        }
        await receiver.stop()
    }

    @Test("What a leader has not delivered at its end is sent by the next one, in order")
    func leaderIsLost() async throws {
        let (redis, answers) = (try RedisProcess(), Answers())
        let relay = RedisRelay(to: redis.socket)
        defer { relay.end() }
        let receiver = try WebhookReceiver { await answers.next() }
        func change(_ configuration: inout Configuration) {
            configuration.cluster.lease = 4
            configuration.apps = [.withWebhooks(.to(receiver.url()) { $0.events = [.clientEvent] })]
        }
        // The first node leads, and the relay is the only way to it.
        try await TestCluster.run(nodes: 1, at: relay.address, redis: redis, change) { first in
            try await eventually {
                await first.nodes[0].metric("fanfare_cluster_leaderships") == 8
            }
            try await TestCluster.run(nodes: 1, redis: redis, change) { second in
                let (sender, _) = try await second.nodes[0].subscribed(to: "private-a")
                await answers.fail(after: 3)
                for number in 0..<10 {
                    try sender.publish("client-e", "private-a", json: "\(number)")
                }
                // Three are delivered, and the fourth has failed.
                try await eventually { await answers.count >= 4 }
                try await relay.set(.cut)
                await answers.succeed()
                try await eventually {
                    await second.nodes[0].metric("fanfare_cluster_leaderships") == 8
                }
                try await eventually {
                    await second.nodes[0].metric("fanfare_cluster_webhooks_waiting") == 0
                        && receiver.requests.contains { $0.events.contains(#""data":"9""#) }
                }
                try await checkOrder(of: receiver.requests)
                // Back, it neither leads nor repeats anything.
                try await relay.set(.open)
                try sender.publish("client-e", "private-a", json: "10")
                try await eventually {
                    receiver.requests.contains { $0.events.contains(#""data":"10""#) }
                }
                #expect(await first.nodes[0].metric("fanfare_cluster_leaderships") == 0)
                try await checkOrder(of: receiver.requests)
            }
        }
        await receiver.stop()
    }

    /// Expects repetitions to have the same IDs, and first attempts to be in order.
    private func checkOrder(of requests: [WebhookReceiver.Request]) async throws {
        var numbers: [String: Int] = [:]
        var firsts: [Int] = []
        for request in requests {
            let data = try #require(request.events.firstMatch(of: /"data":"(\d+)"/))
            let number = try #require(Int(data.1))
            let id = try #require(request.fields["X-Fanfare-Webhook-ID"])
            #expect(request.fields["X-Delivery-Id"] == id)
            if let known = numbers[id] { #expect(known == number) } else { firsts.append(number) }
            numbers[id] = number
        }
        #expect(firsts == Array(0..<firsts.count))
        #expect(Set(numbers.values).count == numbers.count)
    }

    @Test("A node that stops leaves the webhooks to another one at once")
    func leaderStops() async throws {
        let redis = try RedisProcess()
        let receiver = try WebhookReceiver()
        func change(_ configuration: inout Configuration) {
            configuration.apps = [.withWebhooks(.to(receiver.url()))]
        }
        var clients: [WebSocketWire] = []
        try await TestCluster.run(nodes: 1, redis: redis, change) { first in
            let leader = first.nodes[0]
            try await eventually { await leader.metric("fanfare_cluster_leaderships") == 8 }
            try await TestCluster.run(nodes: 1, redis: redis, change) { second in
                let other = second.nodes[0]
                clients.append(try await leader.subscribed(to: "a").0)
                #expect(try await receiver.events(1) == [event("channel_occupied", "a")])
                // So that the channel is not vacated, however long the stop takes.
                clients.append(try await other.subscribed(to: "a").0)
                await leader.server.stop(within: .seconds(1))
                clients.append(try await other.subscribed(to: "b").0)
                try await eventually { await other.metric("fanfare_cluster_leaderships") == 8 }
                #expect(try await receiver.events(2).last == event("channel_occupied", "b"))
                clients.last?.wire.reset()
                #expect(try await receiver.events(3).last == event("channel_vacated", "b"))
                #expect(receiver.requests.count == 3)
            }
        }
        await receiver.stop()
    }

    @Test("What an endpoint refuses for good is a dead letter of the leader, and of Redis")
    func deadLetters() async throws {
        let folder = try TemporaryFolder()
        let receiver = try WebhookReceiver { Response(status: 410) }
        try await TestCluster.run { configuration in
            configuration.apps = [.withWebhooks(.to(receiver.url()))]
            configuration.cluster.partitions = 1
            configuration.webhooks.database = folder.path(configuration.cluster.node ?? "")
        } _: { cluster in
            let (client, _) = try await cluster.nodes[1].subscribed(to: "a")
            let path = folder.path("node-0")
            try await eventually {
                try await cluster.nodes[0].metric("fanfare_cluster_webhooks_waiting") == 0
                    && WebhookQueue(reading: path).deadLetterCount() == 1
            }
            let queue = try WebhookQueue(reading: path)
            let letter = try #require(try queue.deadLetters().first)
            #expect(letter.cause == .gone && letter.channels == ["a"])
            #expect(try queue.deliveryCount() == 0)
            try await eventually { try cluster.redis.command("XLEN", "f:{0-0}:w:dead") == ":1" }
            #expect(try cluster.redis.command("XLEN", "f:{0-0}:w") == ":0")
            withExtendedLifetime(client) {}
        }
        await receiver.stop()
    }

    @Test("Behind a cut of the leader's connection nothing is missing", arguments: [1, 2])
    func cut(loops: Int) async throws {
        let receiver = try WebhookReceiver()
        try await TestCluster.runRelayed(loops: loops) {
            $0.apps = [.withWebhooks(.to(receiver.url()))]
        } _: { cluster, relay in
            try await eventually {
                await cluster.nodes[0].metric("fanfare_cluster_leaderships") == 8
            }
            var clients: [WebSocketWire] = []
            for round in 0..<3 {
                clients.append(try await cluster.nodes[1].subscribed(to: "before-\(round)").0)
                try await relay.set(.cut)
                clients.append(try await cluster.nodes[1].subscribed(to: "during-\(round)").0)
                try await relay.set(.open)
            }
            let names = (0..<3).flatMap { ["before-\($0)", "during-\($0)"] }
            try await eventually {
                let events = Set(receiver.events)
                return names.allSatisfy { events.contains(event("channel_occupied", $0)) }
            }
            for client in clients { client.wire.reset() }
            try await eventually {
                let events = Set(receiver.events)
                return names.allSatisfy { events.contains(event("channel_vacated", $0)) }
            }
        }
        await receiver.stop()
    }
}

/// The answers of a backend that fails for a while.
private actor Answers {
    private(set) var count = 0
    private var failsAfter = Int.max

    func fail(after count: Int) { failsAfter = self.count + count }
    func succeed() { failsAfter = .max }

    func next() -> Response {
        count += 1
        return count > failsAfter ? Response(status: 503) : .text("OK")
    }
}
