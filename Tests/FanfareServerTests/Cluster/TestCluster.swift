import BrokerConfiguration
import RESP
import Glibc
import HTTPServer
import Net
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

    /// Runs a cluster whose first node reaches Redis through a relay.
    static func runRelayed(
        loops: Int = 2,
        _ change: @escaping (inout Configuration) -> Void = { _ in },
        _ body: (TestCluster, RedisRelay) async throws -> Void
    ) async throws {
        let redis = try RedisProcess()
        let relay = RedisRelay(to: redis.socket)
        defer { relay.end() }
        try await run(loops: loops, redis: redis) { configuration in
            if configuration.cluster.node == "node-0" {
                configuration.cluster.redis.urls = [relay.address]
            }
            change(&configuration)
        } _: { cluster in
            try await body(cluster, relay)
        }
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

extension RedisProcess {
    /// The server's time, in milliseconds since 1970.
    var milliseconds: Int64 {
        get throws {
            let script = "local t = redis.call('TIME') return t[1] * 1000 + math.floor(t[2] / 1000)"
            return try #require(Int64(try command("EVAL", script, "0").dropFirst()))
        }
    }

    /// Waits until the last heartbeats in all partitions are later than the start of a replica, whose uptime has whole seconds:
    /// only then it is known not to have begun with an older file.
    func outlasts(startAt time: Int64) async throws {
        let script = """
            local first = 9e15
            for _, key in ipairs(redis.call('KEYS', '*}:nodes')) do
                first = math.min(first, tonumber(redis.call('ZREVRANGE', key, 0, 0, 'WITHSCORES')[2]))
            end
            return first
            """
        try await eventually {
            Int64(try command("EVAL", script, "0").dropFirst()).map { $0 > time + 2_000 } ?? false
        }
    }

    /// Sends a command over a connection of its own, and returns the text of the reply: a string, or the first line of
    /// anything else.
    @discardableResult
    func command(_ arguments: String...) throws -> String { try command(arguments) }

    /// Sends a command over a connection of its own, and returns the text of the reply.
    func command(_ arguments: [String]) throws -> String {
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: socket.utf8) }
        let status = withUnsafePointer(to: &name) { name in
            name.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(status == 0)
        let parts = arguments.map { "$\($0.utf8.count)\r\n\($0)\r\n" }.joined()
        let bytes = Array("*\(arguments.count)\r\n\(parts)".utf8)
        try #require(send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count)
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while recv(descriptor, &byte, 1, 0) == 1, byte != UInt8(ascii: "\n") { line.append(byte) }
        if line.first == UInt8(ascii: "$"), line != Array("$-1\r".utf8) {
            var text: [UInt8] = []
            let length = Int(String(decoding: line.dropFirst().dropLast(), as: UTF8.self)) ?? 0
            while text.count < length, recv(descriptor, &byte, 1, 0) == 1 { text.append(byte) }
            return String(decoding: text, as: UTF8.self)
        }
        return String(decoding: line.dropLast(), as: UTF8.self)
    }
}
