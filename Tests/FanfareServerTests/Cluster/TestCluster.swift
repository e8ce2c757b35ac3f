import TestRedis
import Testing

@testable import FanfareServer

/// Several nodes in this process that share a Redis server, for the duration of a test.
struct TestCluster {
    let redis: RedisProcess
    let nodes: [TestBroker]

    /// Runs a cluster.
    ///
    /// - Parameters:
    ///   - count: The number of nodes.
    ///   - loops: The shards of each node.
    ///   - address: The address under which the nodes reach the server; `nil` for its socket.
    ///   - redis: The server; `nil` for one of the test's own.
    ///   - change: The changes to the configuration of each node.
    ///   - body: The test.
    /// - Throws: The error of the test, of the server or of a node's start.
    static func run(
        nodes count: Int = 2,
        loops: Int = 2,
        at address: String? = nil,
        redis: RedisProcess? = nil,
        _ change: @escaping (inout Configuration) -> Void = { _ in },
        _ body: (TestCluster) async throws -> Void
    ) async throws {
        let redis = try redis ?? RedisProcess()
        try await start(count, loops, address ?? "redis+unix://\(redis.socket)", change, []) {
            try await body(TestCluster(redis: redis, nodes: $0))
        }
        withExtendedLifetime(redis) {}
    }

    private static func start(
        _ count: Int,
        _ loops: Int,
        _ address: String,
        _ change: @escaping (inout Configuration) -> Void,
        _ started: [TestBroker],
        _ body: ([TestBroker]) async throws -> Void
    ) async throws {
        guard started.count < count else { return try await body(started) }
        try await TestBroker.run(loops: loops) { configuration in
            configuration.cluster.engine = .redis
            configuration.cluster.node = "node-\(started.count)"
            configuration.cluster.partitions = 8
            configuration.cluster.redis.urls = [address]
            change(&configuration)
        } _: { node in
            try await start(count, loops, address, change, started + [node], body)
        }
    }
}
