import PusherProtocol
import Testing

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
            case .idempotencyKeys: $0.apps[0].idempotencyKeysMax = max
            case .appRetainedBytes: $0.apps[0].recovery.retainedBytesMax = max
            default: $0.retainedBytesTotalMax = max
            }
        } _: { cluster in
            for index in 0..<(limit == .retainedBytesTotal ? 24 : 6) {
                let name = "c\(index)"
                let node = cluster.nodes[index % 2]
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
            guard limit != .recoveryPositions else { return }
            var hits = 0
            for node in cluster.nodes { hits += await node.hits(limit) }
            #expect(hits > 0)
        }
    }

    @Test("More than may wait is refused, and counted; what waited is published")
    func eventsForRedis() async throws {
        try await TestCluster.runRelayed {
            $0.cluster.redis.patience = 20
            $0.cluster.redis.queuedBytesMax = 1 << 20
        } _: { cluster, relay in
            let node = cluster.nodes[0]
            let (client, _) = try await cluster.nodes[1].subscribed(to: "a")
            try await relay.set(.cut)
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
