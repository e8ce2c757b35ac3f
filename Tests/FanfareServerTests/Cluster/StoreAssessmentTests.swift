import BrokerConfiguration
import TestRedis
import Testing

@testable import Cluster
@testable import FanfareServer

@Suite("Cluster: what is unsafe about a Redis server", .timeLimit(.minutes(1)))
struct StoreAssessmentTests {
    /// Options of a server about which there is nothing to say but that it has no replica.
    private static let safe = [
        "--appendonly", "yes", "--stream-node-max-bytes", "1024", "--maxmemory-policy",
        "noeviction",
    ]

    private func inspector(_ redis: RedisProcess, partitions: Int = 8) throws -> ClusterInspector {
        var cluster = ClusterConfiguration()
        (cluster.engine, cluster.partitions) = (.redis, partitions)
        cluster.redis.urls = ["redis+unix://\(redis.socket)"]
        return try ClusterInspector(cluster)
    }

    @Test(
        "A server is assessed by its settings",
        arguments: [
            ([], [], []),
            (
                ["--maxmemory", "256mb", "--maxmemory-policy", "allkeys-lru"],
                ["maxmemory-policy is allkeys-lru: with its memory full"], []
            ),
            (["--maxmemory", "255mb"], [], ["maxmemory is 267386880 bytes: with its memory full"]),
            (["--maxmemory", "256mb"], [], []),
            (
                ["--maxmemory-policy", "volatile-ttl"], [],
                ["maxmemory-policy is volatile-ttl, which"]
            ),
            (["--appendonly", "no"], [], ["it keeps nothing on its disk"]),
            (
                ["--appendonly", "no", "--save", "60 1"], [],
                ["it writes to its disk only at intervals"]
            ),
            (
                ["--stream-node-max-bytes", "4096"], [],
                ["stream-node-max-bytes is 4096: each channel"]
            ),
            (["--stream-node-max-bytes", "0"], [], ["stream-node-max-bytes is 0: each channel"]),
            (
                ["--stream-node-max-bytes", "100"], [],
                ["stream-node-max-bytes is 100: each message"]
            ),
            (
                ["--client-output-buffer-limit", "pubsub 1mb 512kb 60"], [],
                ["client-output-buffer-limit pubsub is 1048576 bytes: the server disconnects"]
            ),
            (["--client-output-buffer-limit", "pubsub 32mb 8mb 60"], [], []),
            (["--client-output-buffer-limit", "pubsub 0 0 0"], [], []),
        ]
    )
    func settings(options: [String], faults: [String], warnings: [String]) async throws {
        let redis = try RedisProcess(Self.safe + options)
        let assessment = try await inspector(redis).assessFirst()
        #expect(assessment.server.hasPrefix("redis "))
        expect(assessment.faults, begin: faults)
        expect(assessment.warnings, begin: ["it has no replica"] + warnings)
    }

    private func expect(_ clauses: [String], begin beginnings: [String]) {
        #expect(clauses.count == beginnings.count, "\(clauses)")
        for (clause, beginning) in zip(clauses, beginnings) {
            #expect(clause.hasPrefix(beginning))
        }
    }

    @Test("A server whose settings are secret is used with a warning")
    func secretSettings() async throws {
        let redis = try RedisProcess(["--rename-command", "CONFIG", ""])
        let assessment = try await inspector(redis).assessFirst()
        expect(assessment.faults, begin: [])
        expect(assessment.warnings, begin: ["it has no replica", "CONFIG GET is not permitted"])
    }

    @Test("Data with another number of partitions is refused once a node has used it")
    func layout() async throws {
        let redis = try RedisProcess(Self.safe)
        #expect(try await inspector(redis, partitions: 16).assessFirst().faults.isEmpty)
        // To look changes nothing.
        #expect(try await inspector(redis).assessFirst(claims: true).faults.isEmpty)
        #expect(try await inspector(redis).assessFirst(claims: true).faults.isEmpty)
        for claims in [false, true] {
            let assessment = try await inspector(redis, partitions: 16).assessFirst(claims: claims)
            expect(
                assessment.faults,
                begin: [
                    "its data is of 8 partitions, server 1 of 1, but this configuration is of "
                        + "16 partitions, server 1 of 1: set"
                ]
            )
        }
    }

    @Test("A server that cannot be asked is named with the reason, and without its password")
    func failures() async throws {
        var cluster = ClusterConfiguration()
        cluster.engine = .redis
        cluster.redis.urls = ["redis+unix://:swordfish@/nowhere/redis.sock"]
        let inspector = try ClusterInspector(cluster)
        do throws(ClusterInspector.Failure) {
            _ = try await inspector.assessFirst()
            Issue.record("there is no server")
        } catch {
            #expect(error.server == "redis+unix:///nowhere/redis.sock")
            #expect(error.reason.contains("No such file or directory"))
        }
    }

    @Test("A node does not start with a server that evicts, and says what to do")
    func start() async throws {
        let redis = try RedisProcess(["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"])
        let error = await #expect(throws: StartError.self) {
            try await TestCluster.run(nodes: 1, redis: redis) { _ in
            } _: { _ in
            }
        }
        #expect(error?.description.contains("set it to noeviction") == true)
    }
}

extension ClusterInspector {
    /// Assesses the first server.
    func assessFirst(claims: Bool = false) async throws(Failure) -> StoreAssessment {
        try await assess(try await servers().all[0], claims: claims)
    }
}
