import Broker
import BrokerConfiguration
import Foundation
import PusherProtocol
import TestRedis
import Testing

@testable import FanfareServer

extension RedisProcess {
    /// Runs a command for each key that matches a pattern, with `KEY` for the key.
    func each(_ pattern: String, _ arguments: String...) throws {
        let script = """
            for _, key in ipairs(redis.call('KEYS', ARGV[1])) do
                local command = {}
                for index = 2, #ARGV do command[index - 1] = ARGV[index] == 'KEY' and key or ARGV[index] end
                redis.pcall(unpack(command))
            end
            """
        _ = try command(["EVAL", script, "0", pattern] + arguments)
    }

    /// Publishes a message on each channel that matches a pattern.
    func publish(_ pattern: String, _ message: String) throws {
        let script = """
            for _, name in ipairs(redis.call('PUBSUB', 'CHANNELS', ARGV[1])) do
                redis.call('PUBLISH', name, ARGV[2])
            end
            """
        try command("EVAL", script, "0", pattern, message)
    }
}

@Suite("Cluster: numbers in Redis at their edges") struct ClusterNumberTests {
    private static let numbers = EdgeNumber.all + ["inf", "-inf", "nan", "1e300", "", "x"]

    private static func change(_ configuration: inout Configuration) {
        var rule = RecoveryRuleConfiguration()
        rule.settings.keep = .always
        rule.settings.allowsRewind = true
        configuration.apps[0].recoveryRules = [rule]
        configuration.apps[0].features.subscriptionCount = true
    }

    /// Adds an entry to the stream of a channel; `S` in its ID stands for the ID of the stream.
    private func add(
        _ id: String,
        _ entry: String,
        to channel: String,
        in cluster: TestCluster
    ) throws {
        let script = """
            local key = redis.call('KEYS', '*}:h:1:' .. ARGV[1])[1]
            local id = redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)[1][1]
            local stream = string.match(id, '^%d+')
            return redis.pcall('XADD', key, string.gsub(ARGV[2], 'S', stream), 'e', ARGV[3])
            """
        try cluster.redis.command("EVAL", script, "0", channel, id, entry)
    }

    /// The body of an entry.
    private func entry(_ data: String, on channel: String) -> String {
        #"e - \#(now) {"event":"e","channel":"\#(channel)","data":"\#(data)"}"#
    }

    private var now: Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }

    /// The node answers, and its channels go on.
    private func expectLife(of node: TestBroker) async throws {
        #expect(try await node.trigger("e", "1", on: "life").status == 200)
    }

    /// The node has refused something as damaged, and lives.
    private func expectRefusal(by node: TestBroker) async throws {
        #expect(await node.metric("fanfare_cluster_refused_replies_total") ?? 0 > 0)
        try await expectLife(of: node)
    }

    @Test("Subscriptions, members, expiries and terminations")
    func counts() async throws {
        try await TestCluster.run(nodes: 1, Self.change) { cluster in
            let node = cluster.nodes[0]
            let (client, _) = try await node.subscribed(to: "a")
            _ = try await node.subscribed(to: "cache-c")
            #expect(try await node.trigger("e", "1", on: "cache-c").status == 200)
            for number in Self.numbers {
                try cluster.redis.each("*}:n:1:*", "HSET", "KEY", "x", number, "y", number)
                try cluster.redis.each("*}:l:1", "ZADD", "KEY", number, "cache-c")
                for (channel, info) in [("a", "subscription_count"), ("cache-c", "cache")] {
                    let answer = try await Wire(port: node.port).ask(
                        SignedRequest(
                            method: "GET",
                            path: "/apps/1/channels/\(channel)",
                            parameters: [("info", info)]
                        )
                    )
                    #expect(answer.status == 200, "\(number): \(answer.body)")
                    #expect(!answer.body.contains("-"), "\(number): \(answer.body)")
                }
                // Attaches the node again, and announces the number.
                let (other, socketID) = try await node.connected()
                try other.send(subscribeMessage(to: "a", socketID: socketID))
                try cluster.redis.publish("*}:m:1:a", "0 # - 1 \(number)")
                try await expectLife(of: node)
            }
            try cluster.redis.each("*}:n:1:*", "HDEL", "KEY", "x", "y")
            try await expectLife(of: node)
            withExtendedLifetime(client) {}
        }
    }

    @Test("Serials of streams, and of what is published")
    func serials() async throws {
        try await TestCluster.run(nodes: 1, Self.change) { cluster in
            let node = cluster.nodes[0]
            let serials = [
                "9007199254740990", "9007199254740991", "9007199254740992",
                "9223372036854775806", "9223372036854775807", "9223372036854775808",
                "18446744073709551614", "18446744073709551615",
            ]
            for (index, serial) in serials.enumerated() {
                let channel = "s\(index)"
                let device = try await TrackingWire(node, channel)
                #expect(try await node.trigger("e", "1", on: channel).status == 200)
                let body = entry("2", on: channel)
                try add("S-\(serial)", body, to: channel, in: cluster)
                // Announced at its place, or behind it.
                _ = try await node.trigger("e", "3", on: channel)
                try cluster.redis.publish("*}:m:1:\(channel)", "\(serial) \(body)")
                _ = try await node.history(channel)
                _ = try await node.history(channel, [("order", "newest"), ("limit", "1")])
                let resumed = try? await TrackingWire(node, channel, position: device.position)
                try await expectLife(of: node)
                withExtendedLifetime(resumed) {}
            }
        }
    }

    @Test("Announcements, and messages of the inbox")
    func published() async throws {
        try await TestCluster.run(nodes: 1, Self.change) { cluster in
            let node = cluster.nodes[0]
            let device = try await TrackingWire(node, "a")
            let owner = try await StockWire(node, StockWire.token(in: 120))
            _ = try await owner.subscribe(to: "a")
            // The session's name is a digest of its token.
            let script = "return redis.call('HKEYS', redis.call('KEYS', '*}:s:1')[1])[1]"
            let token = try cluster.redis.command("EVAL", script, "0")
            for number in Self.numbers {
                for message in [
                    "\(number) e - 1 {}", "1 e - \(number) {}", "0 ! - 1 \(number) epoch",
                    "0 ! - 1 \(number) purge", "0 + - 1 \(number) u{}", "0 # - 1 \(number)",
                    "\(number) c 1.\(number) \(number) {}",
                ] {
                    try cluster.redis.publish("*}:m:1:*", message)
                }
                try cluster.redis.publish(
                    "*}:inbox:*",
                    "yield 1:\(token) \(owner.socketID) \(number)"
                )
                try await expectLife(of: node)
            }
            try await expectRefusal(by: node)
            withExtendedLifetime((device, owner)) {}
        }
    }

    @Test("A full stream is continued by another, and nothing is missing")
    func fullStream() async throws {
        try await TestCluster.run(nodes: 2) {
            Self.change(&$0)
            $0.apps[0].features.subscriptionCount = false
        } _: { cluster in
            let (node, other) = (cluster.nodes[0], cluster.nodes[1])
            try await node.publish(1...1, on: "f")
            let last = ChannelPosition.serialMax - 1
            try add("S-\(last)", entry("2", on: "f"), to: "f", in: cluster)
            let device = try await TrackingWire(node, "f")
            #expect(device.position.serial == last)
            try await node.publish(3...4, on: "f")
            #expect(try await device.next() == "3")
            let next = try await device.restart()
            #expect(next.continuity == .recovered(replay: 0))
            #expect(next.position.stream != device.start.position.stream)
            #expect(try await device.client.nextText().contains(#""serial":1"#))
            let resumed = try await TrackingWire(other, "f", position: device.start.position)
            // The rest of the former stream; the present one follows with an acknowledgement of its own.
            #expect(resumed.start.continuity == .recovered(replay: 1))
            let history = try await other.history("f")
            #expect(history.status == 200 && history.body.contains(#""data":"4""#))
            withExtendedLifetime(device) {}
        }
    }

    @Test("A stream whose ID no other can follow is replaced")
    func damagedStream() async throws {
        try await TestCluster.run(nodes: 2, Self.change) { cluster in
            for (index, id) in ["9007199254740992-1", "18446744073709551615-5"].enumerated() {
                let channel = "x\(index)"
                try await cluster.nodes[0].publish(1...1, on: channel)
                try add(id, entry("2", on: channel), to: channel, in: cluster)
                try await cluster.nodes[1].publish(3...3, on: channel)
                let device = try await TrackingWire(cluster.nodes[1], channel)
                #expect(device.position.serial == 1)
                #expect(try await cluster.nodes[0].history(channel).status == 200)
                #expect(
                    try await Wire(port: cluster.nodes[0].port).ask(
                        SignedRequest(method: "DELETE", path: "/apps/1/channels/\(channel)/history")
                    ).status == 200
                )
            }
        }
    }

    @Test("A damaged message is counted, and told as a gap")
    func damagedMessage() async throws {
        try await TestCluster.run(nodes: 2, Self.change) { cluster in
            let (node, other) = (cluster.nodes[0], cluster.nodes[1])
            try await node.publish(1...4, on: "d")
            let stream = try await TrackingWire(node, "d").position.stream
            let script = """
                local key = redis.call('KEYS', '*}:h:1:d')[1]
                local entries = redis.call('XRANGE', key, '-', '+')
                redis.call('DEL', key)
                for index, entry in ipairs(entries) do
                    redis.call('XADD', key, entry[1], 'e', index == 2 and 'damaged' or entry[2][2])
                end
                """
            try cluster.redis.command("EVAL", script, "0")
            let behind = try await TrackingWire(
                other,
                "d",
                position: ChannelPosition(stream: stream, serial: 1)
            )
            guard case .gap = behind.start.continuity else {
                Issue.record("\(behind.start)")
                return
            }
            try await expectRefusal(by: other)
            let ahead = try await TrackingWire(
                cluster.nodes[1],
                "d",
                position: ChannelPosition(stream: stream, serial: 2)
            )
            #expect(ahead.start.continuity == .recovered(replay: 2))
            let history = try await other.history("d")
            #expect(history.body.matches(of: /"data"/).count == 3, "\(history.body)")
            #expect(history.body.contains(#""truncated":true"#), "\(history.body)")
        }
    }
}
