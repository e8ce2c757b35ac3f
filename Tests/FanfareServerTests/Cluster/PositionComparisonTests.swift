import PusherProtocol
import TestRedis
import Testing

@testable import FanfareServer

@Suite("Cluster: comparison of positions") struct PositionComparisonTests {
    @Test("A message that was not announced is found, delivered and counted")
    func findsLosses() async throws {
        try await TestCluster.run(loops: 1) { cluster in
            let node = cluster.nodes[0]
            let tracking = try await TrackingWire(node, "a")
            let (stock, _) = try await node.subscribed(to: "a")
            // One that has no stream, and one that is compared as well.
            let (other, _) = try await node.subscribed(to: "b")
            #expect(try await cluster.nodes[1].trigger("e", "1", on: "a").status == 200)
            #expect(try await tracking.next() == "1")
            let entry = "e - 1 {\"event\":\"e\",\"channel\":\"a\",\"data\":\"2\"}"
            let script = """
                local key = redis.call('KEYS', '*:h:1:a')[1]
                return redis.call('XADD', key, '\(tracking.position.stream)-*', 'd', ARGV[1])
                """
            let divergences = "fanfare_cluster_divergences_total"
            #expect(await node.metric(divergences) == 0)
            try cluster.redis.command("EVAL", script, "0", entry)
            #expect(try await tracking.next() == "2")
            for number in 1...2 {
                #expect(try await stock.nextText().contains(#""data":"\#(number)""#))
            }
            #expect(await node.metric(divergences) == 1)
            #expect(try await cluster.nodes[1].trigger("e", "3", on: "a").status == 200)
            #expect(try await tracking.next() == "3")
            try await other.expectNothing()
        }
    }
}
