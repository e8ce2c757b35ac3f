import BrokerConfiguration
import PusherProtocol
import TestPorts
import TestRedis
import Testing

@testable import FanfareServer

@Suite("Cluster: Sentinels") struct ClusterSentinelTests {
    /// Sentinels whose operator says which server is the primary.
    private struct Sentinels {
        let processes: [RedisProcess]

        init() throws {
            processes = try (0..<3).map { _ in
                try RedisProcess(as: "redis-sentinel", files: ["sentinel.conf": []])
            }
        }

        func name(_ port: UInt16?, _ indices: Range<Int>) throws {
            for process in processes[indices] {
                try process.command("SENTINEL", "REMOVE", "m")
                guard let port else { continue }
                let reply = try process.command(
                    "SENTINEL",
                    "MONITOR",
                    "m",
                    "127.0.0.1",
                    "\(port)",
                    "2"
                )
                try #require(reply == "+OK")
            }
        }
    }

    private func server() throws -> (process: RedisProcess, port: UInt16) {
        let port = freePort()
        return (try RedisProcess(["--port", "\(port)", "--bind", "127.0.0.1"]), port)
    }

    @Test(
        "A node uses the server that the majority names, and none without one",
        .timeLimit(.minutes(1))
    )
    func followsTheMajority() async throws {
        let (first, second) = (try server(), try server())
        let sentinels = try Sentinels()
        try sentinels.name(first.port, 0..<3)
        try await TestCluster.run(at: "redis://m", redis: first.process) { configuration in
            configuration.cluster.redis.sentinels = sentinels.processes.map {
                "redis+unix://\($0.socket)"
            }
        } _: { cluster in
            let (here, there) = (cluster.nodes[0], cluster.nodes[1])
            let tracking = try await TrackingWire(here, "a")
            let other = try await TrackingWire(there, "a")
            #expect(try await there.trigger("e", "1", on: "a").status == 200)
            #expect(try await tracking.next() == "1")
            // A minority changes nothing.
            try sentinels.name(second.port, 0..<1)
            #expect(try await there.trigger("e", "2", on: "a").status == 200)
            #expect(try await tracking.next() == "2")
            #expect(try await other.next(2) == ["1", "2"])
            // The other server lacks the messages, which is told.
            try sentinels.name(second.port, 1..<2)
            for client in [tracking, other] {
                let text = try await client.client.nextText()
                #expect(text.contains("unknown_stream"), "\(text)")
            }
            #expect(try await there.trigger("e", "3", on: "a").status == 200)
            #expect(try await tracking.client.nextText().contains(#""data":"3","serial":1}"#))
            // Without a majority nobody can know.
            try sentinels.name(nil, 0..<2)
            try await eventually {
                try await there.trigger("f", "4", on: "b").status == 503
            }
            try sentinels.name(second.port, 0..<1)
            try sentinels.name(second.port, 2..<3)
            try await eventually {
                try await there.trigger("e", "5", on: "a").status == 200
            }
            #expect(try await tracking.client.nextText().contains(#""data":"5","serial":2}"#))
        }
        withExtendedLifetime(second.process) {}
    }
}
