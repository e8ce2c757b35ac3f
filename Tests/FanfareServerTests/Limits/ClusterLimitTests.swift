import PusherProtocol
import Testing

@testable import FanfareServer

@Suite("Limits in a cluster", .timeLimit(.minutes(1))) struct ClusterLimitTests {
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
