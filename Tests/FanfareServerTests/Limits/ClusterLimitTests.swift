import Broker
import BrokerConfiguration
import PusherProtocol
import Testing

@testable import Cluster
@testable import FanfareServer

@Suite("Limits in a cluster", .timeLimit(.minutes(1))) struct ClusterLimitTests {
    /// Limits of kept data that hold in Redis, too, with what counts there: streams, keys, or bytes of messages.
    private static let kept: [(limit: Limit, max: Int, pattern: String)] = [
        (.recoveryPositions, 3, "*}:h:*"), (.idempotencyKeys, 3, "*}:x:*"),
        (.appRetainedBytes, 64 << 10, "*}:h:*"), (.retainedBytesTotal, 1 << 20, "*}:h:*"),
    ]

    @Test("Redis keeps no more than the app's limits", arguments: kept)
    func keptData(limit: Limit, max: Int, pattern: String) async throws {
        try await TestCluster.run {
            switch limit {
            case .recoveryPositions: $0.apps[0].recovery.positionsMax = max
            case .idempotencyKeys: $0.apps[0].limits.idempotencyKeysMax = max
            case .appRetainedBytes: $0.apps[0].recovery.retainedBytesMax = max
            default: $0.retainedBytesTotalMax = max
            }
        } _: { cluster in
            for index in 0..<(limit == .retainedBytesTotal ? 24 : 6) {
                let name = "c\(index)"
                // One node, which forgets its copies of channels, too.
                let node = cluster.nodes[limit == .recoveryPositions ? 0 : index % 2]
                let client = try await TrackingWire(node, name)
                let data = String(
                    repeating: "x",
                    count: limit == .retainedBytesTotal ? 60_000 : 16_000
                )
                let key = limit == .idempotencyKeys ? #","idempotency_key":"\#(index)""# : ""
                let body = #"{"name":"e","channel":"\#(name)","data":"\#(data)"\#(key)}"#
                let request = SignedRequest(path: "/apps/1/events", body: body)
                #expect(try await Wire(port: node.port).ask(request).status == 200)
                client.cut()
            }
            let script = """
                local count, bytes = 0, 0
                for _, key in ipairs(redis.call('KEYS', ARGV[1])) do
                    count = count + 1
                    if ARGV[2] == 'bytes' then
                        for _, entry in ipairs(redis.call('XRANGE', key, '-', '+')) do
                            bytes = bytes + #entry[2][2]
                        end
                    end
                end
                return ARGV[2] == 'bytes' and bytes or count
                """
            let unit =
                limit == .appRetainedBytes || limit == .retainedBytesTotal ? "bytes" : "count"
            try await eventually {
                let used = try cluster.redis.command("EVAL", script, "0", pattern, unit).dropFirst()
                return Int(used).map { (1...max).contains($0) } ?? false
            }
            var hits = 0
            for node in cluster.nodes { hits += await node.hits(limit) }
            #expect(hits > 0)
            guard limit == .recoveryPositions else { return }
            // Each channel that Redis has forgotten counts once.
            let series = #"fanfare_recovery_evicted_total{limit="recovery_positions"}"#
            try await eventually { await cluster.nodes[0].metric(series) ?? 0 >= 3 }
            #expect(await cluster.nodes[0].metric(series) == 3)
            #expect(await cluster.nodes[0].hits(limit) <= 3)
        }
    }

    @Test(
        "In a Redis Cluster a partition has what it uses and a fourth of what is free",
        arguments: [
            // used, total, share
            (0, 0, 2_500), (2_500, 2_500, 4_375), (0, 10_000, 100), (5_000, 20_000, 3_750),
            (6_000, 12_000, 5_000), (50, 20_000, 100), (10_000, 10_000, 10_000),
        ]
    )
    func shareOfAPartition(used: Int, total: Int, share: Int) {
        let found = KeptShares.share(of: 10_000, used: used, total: total, partitionCount: 100)
        #expect(found == share)
    }

    @Test("In a Redis Cluster few channels have the whole limit, and many no more")
    func keptDataOfARedisCluster() async throws {
        let servers = try await RedisClusterServer.three()
        let max = 1 << 20
        try await TestCluster.run(redis: servers[0].redis) {
            $0.cluster.redis.urls = [servers[0].address]
            $0.cluster.partitions = 64
            $0.cluster.redis.patience = 20
            $0.apps[0].recovery.retainedBytesMax = max
        } _: { cluster in
            func publish(_ count: Int, _ length: Int, on name: String) async throws {
                let data = String(repeating: "x", count: length)
                let wire = try Wire(port: cluster.nodes[0].port)
                let body = #"{"name":"e","channel":"\#(name)","data":"\#(data)"}"#
                for _ in 0..<count {
                    let request = SignedRequest(path: "/apps/1/events", body: body)
                    #expect(try await wire.ask(request).status == 200)
                }
            }
            func keptBytes() throws -> Int {
                let script = """
                    local bytes = 0
                    for _, key in ipairs(redis.call('KEYS', '*}:h:*')) do
                        for _, entry in ipairs(redis.call('XRANGE', key, '-', '+')) do
                            bytes = bytes + #entry[2][2]
                        end
                    end
                    return bytes
                    """
                return try servers.reduce(0) { sum, server in
                    sum + (Int(try server.redis.command("EVAL", script, "0").dropFirst()) ?? 0)
                }
            }
            let names = (0..<40).map { "c\($0)" }
            var clients: [TrackingWire] = []
            for name in names { clients.append(try await TrackingWire(cluster.nodes[1], name)) }
            try await eventually { cluster.nodes[0].server.cluster?.keptTotals[nil] != nil }
            // An equal share would be 16 KiB.
            try await publish(24, 10_000, on: "c0")
            #expect(try keptBytes() > 240_000)
            for name in names { try await publish(10, 10_000, on: name) }
            // What each partition uses is read every two seconds, and removed when its channels have grown by 2 KiB.
            try await eventually {
                for name in names { try await publish(1, 2_048, on: name) }
                return try (max / 2...2 * max).contains(keptBytes())
            }
            _ = clients
        }
        withExtendedLifetime(servers) {}
    }

    @Test("More than may wait is refused, and counted; what waited is published")
    func eventsForRedis() async throws {
        try await TestCluster.runRelayed {
            $0.cluster.redis.patience = 20
            $0.cluster.redis.queuedBytesMax = 1 << 20
        } _: { cluster, relay in
            let node = cluster.nodes[0]
            let (client, _) = try await cluster.nodes[1].subscribed(to: "a")
            try await relay.cut(node)
            // A shard may hold half a MiB.
            let data = String(repeating: "x", count: 8_192)
            let wires = try (0..<80).map { _ in try Wire(port: node.port) }
            for wire in wires {
                let body = #"{"name":"e","channels":["a"],"data":"\#(data)"}"#
                try wire.send(SignedRequest(path: "/apps/1/events", body: body).text)
            }
            try await eventually { await node.hits(.clusterQueuedBytes) > 0 }
            try await relay.set(.open)
            var answers: [Answer] = []
            for wire in wires { answers.append(try await wire.answer()) }
            let published = answers.count { $0.status == 200 }
            #expect((40..<80).contains(published))
            let refused = answers.filter { $0.status != 200 }
            #expect(
                refused.allSatisfy { $0.status == 503 && $0.body.contains("Too many events wait") }
            )
            #expect(await node.hits(.clusterQueuedBytes) == refused.count)
            for _ in 0..<published {
                #expect(try await client.nextText() == eventText("e", "a", data: data))
            }
        }
    }
}
