import CommandSupport
import Foundation
import TestProgram
import TestRedis
import Testing

@testable import Cluster
@testable import FanfareServer
@testable import fanfare

@Suite("fanfare nodes", .timeLimit(.minutes(1))) struct NodesTests {
    private let listing = NodeListing(
        nodes: [
            NodeListing.Node(
                id: "web-1-x",
                report: NodeReport(
                    name: "web-1",
                    state: .serving,
                    clientCount: 41_204,
                    roundTripMicroseconds: 231,
                    apps: "3f9a",
                    version: "0.1.0",
                    time: 0
                ),
                heartbeatAge: 812,
                storeCount: 2,
                state: .serving
            ),
            NodeListing.Node(
                id: "web-2-y",
                report: NodeReport(
                    name: "web-2",
                    state: .serving,
                    clientCount: 17,
                    roundTripMicroseconds: 240,
                    apps: "77c0",
                    version: "0.1.0",
                    time: 0
                ),
                heartbeatAge: 6_148,
                storeCount: 1,
                state: .isolated
            ),
            NodeListing.Node(
                id: "web-3-z",
                report: nil,
                heartbeatAge: 240_000,
                storeCount: 0,
                state: .lost
            ),
        ],
        storeCount: 2
    )

    @Test func aTableShowsEachNode() {
        #expect(
            NodesText(listing, isColored: false).table == [
                "NODE     STATE     CLIENTS  HEARTBEAT  STORES       APPS    VERSION",
                "web-1    serving    41,204  0.8 s      2/2  0.2 ms  3f9a    0.1.0",
                "web-2    isolated       17  6.1 s      1/2          77c0 !  0.1.0",
                "web-3-z  lost               4 min      0/2",
            ]
        )
    }

    @Test func jsonHasOneObjectForEachNode() throws {
        let lines = NodesText(listing, isColored: false).json
        #expect(lines.count == 3)
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(lines[1].utf8)) as? [String: Any]
        )
        #expect(object["name"] as? String == "web-2")
        #expect(object["state"] as? String == "isolated")
        #expect(object["heartbeat_ms"] as? Int == 6_148)
        #expect(object["has_other_apps"] as? Bool == true)
    }

    @Test(arguments: [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")])
    func numbersAreGrouped(number: Int, text: String) { #expect(grouped(number) == text) }

    @Test func itListsTheNodesOfAServer() async throws {
        let redis = try RedisProcess()
        let directory = try TemporaryDirectory()
        let file = directory.path("fanfare.yaml")
        try """
        listen: {port: 0}
        cluster: {engine: redis, node: web-1, redis: {urls: ["redis+unix://\(redis.socket)"]}}
        """.write(toFile: file, atomically: true, encoding: .utf8)
        let none = try await Program.run(["nodes", "--config", file])
        #expect(none.output == "No nodes.\n")
        #expect(none.code == 0)
        let check = try await Program.run(["check", "--config", file])
        #expect(check.code == 0)
        #expect(check.output.contains("cluster      redis+unix://\(redis.socket), 256 partitions"))
        #expect(check.output.contains("warning  it has no replica"))
        redis.stop()
        let nodes = try await Program.run(["nodes", "--config", file])
        #expect(nodes.code == 1)
        #expect(nodes.errors.contains("The nodes cannot be listed: redis+unix://\(redis.socket)"))
        let failed = try await Program.run(["check", "--config", file])
        #expect(failed.code == 1)
        #expect(failed.output.contains("fault    it cannot be queried"))
        #expect(try await Program.run(["check", "--config", file, "--offline"]).code == 0)
    }

    @Test func aBrokerAloneHasNoNodes() async throws {
        let result = try await Program.run(["nodes"])
        #expect(result.code == 1)
        #expect(result.errors.contains("cluster.engine is none"))
    }
}
