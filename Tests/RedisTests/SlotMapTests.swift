import RESP
import TestRedis
import Testing

@testable import Redis

@Suite("Slots of a Redis Cluster") struct SlotMapTests {
    private typealias Location = RedisURL.Location

    private static let asked = url("redis://10.0.0.9:7000")

    private static func url(_ text: String) -> RedisURL {
        guard let url = try? RedisURL(text) else { preconditionFailure(text) }
        return url
    }

    /// A server in the reply to `CLUSTER SHARDS`.
    private struct Server {
        var endpoint: String?
        var port = 6_379
        var role = "master"
        var health = "online"

        var encoded: String {
            let fields = [
                ("id", bulk("0a")), ("port", ":\(port)\r\n"), ("tls-port", ":\(port + 1)\r\n"),
                ("ip", bulk("10.0.0.1")), ("endpoint", endpoint.map { bulk($0) } ?? "_\r\n"),
                ("role", bulk(role)), ("replication-offset", ":0\r\n"), ("health", bulk(health)),
            ]
            return "%\(fields.count)\r\n" + fields.map { bulk($0) + $1 }.joined()
        }
    }

    private static func bulk(_ text: String) -> String { "$\(text.utf8.count)\r\n\(text)\r\n" }

    private static func shard(_ slots: [Int], _ servers: Server...) -> String {
        "%2\r\n" + bulk("slots") + "*\(slots.count)\r\n" + slots.map { ":\($0)\r\n" }.joined()
            + bulk("nodes") + "*\(servers.count)\r\n" + servers.map(\.encoded).joined()
    }

    private static func map(_ shards: String..., of url: RedisURL = asked) throws -> SlotMap? {
        try map(text: "*\(shards.count)\r\n" + shards.joined(), of: url)
    }

    private static func map(text: String, of url: RedisURL = asked) throws -> SlotMap? {
        var parser = RESPParser()
        let bytes = Array(text.utf8)
        var index = 0
        var map: SlotMap?
        try #require(parser.next(in: bytes.span, from: &index) { map = SlotMap($0, of: url) })
        #expect(index == bytes.count)
        return map
    }

    @Test func namesThePrimaryOfEachSlot() throws {
        let (a, b) = (Location.host("a", port: 6_379), Location.host("b", port: 7_000))
        let map = try #require(
            try Self.map(
                Self.shard(
                    [5_461, 10_922, 16_000, 16_383],
                    Server(endpoint: "r", role: "replica"),
                    Server(endpoint: "b", port: 7_000)
                ),
                Self.shard(
                    [0, 5_460],
                    Server(endpoint: "a"),
                    Server(endpoint: "s", role: "replica")
                ),
                Self.shard([], Server(endpoint: "empty"))
            )
        )
        let expected = [
            0: a, 5_460: a, 5_461: b, 10_922: b, 10_923: nil, 15_999: nil, 16_000: b, 16_383: b,
        ]
        for (slot, server) in expected { #expect(map[slot] == server, "\(slot)") }
        #expect(map[-1] == nil && map[SlotMap.slotCount] == nil)
        #expect(map.servers == [a, b] && !map.isComplete)
        let partitions = PartitionKeys.all(prefix: "f", count: 3)
        #expect(partitions.map { map.server(of: $0) } == [a, b, nil])
        #expect(try Self.map(Self.shard([0, 16_383], Server(endpoint: "a")))?.isComplete == true)
    }

    @Test("Hosts that are not named, and ports of encrypted connections")
    func completesAddresses() throws {
        let cases: [(String?, String, Location?)] = [
            (nil, "redis://h:1", .host("h", port: 6_379)),
            ("", "redis://h:1", .host("h", port: 6_379)), ("?", "redis://h:1", nil),
            ("::1", "redis://h:1", .host("::1", port: 6_379)),
            ("n.example", "rediss://h:1", .host("n.example", port: 6_380)),
            (nil, "redis+unix:///s", nil), ("a", "redis+unix:///s", .host("a", port: 6_379)),
        ]
        for (endpoint, url, expected) in cases {
            let shard = Self.shard([0, 9], Server(endpoint: endpoint))
            #expect(try Self.map(shard, of: Self.url(url))?[0] == expected, "\(url)")
        }
    }

    @Test func waitsForAPromotion() throws {
        let failed = Server(endpoint: "a", health: "fail")
        let replica = Server(endpoint: "b", role: "replica")
        let without = try #require(try Self.map(Self.shard([0, 9], failed, replica)))
        #expect(without[0] == nil && without.servers.isEmpty)
        let promoted = Server(endpoint: "b")
        let map = try Self.map(Self.shard([0, 9], failed, promoted))
        #expect(map?[0] == .host("b", port: 6_379))
    }

    @Test(
        "Refuses another form",
        arguments: [[0], [5, 4], [0, 16_384], [-1, 3], [0, 9, 9, 12]]
    )
    func refuses(slots: [Int]) throws {
        #expect(try Self.map(Self.shard(slots, Server(endpoint: "a"))) == nil)
    }

    @Test func refusesRepliesThatAreNoList() throws {
        #expect(try Self.map(text: "-ERR unknown command\r\n") == nil)
        #expect(try Self.map(text: "_\r\n") == nil)
        #expect(try Self.map(text: "*1\r\n:1\r\n")?.servers == [])
    }

    @Test(
        arguments: [
            ("MOVED 15495 127.0.0.1:17103", .moved, 15_495, .host("127.0.0.1", port: 17_103)),
            ("ASK 0 ::1:6381", .ask, 0, .host("::1", port: 6_381)),
            ("MOVED 1 :6381", .moved, 1, .host("10.0.0.9", port: 6_381)),
            ("ASK 1 n.example:6381", .ask, 1, .host("n.example", port: 6_381)),
        ] as [(String, Redirection.Kind, Int, RedisURL.Location)]
    )
    func readsRedirections(
        text: String,
        kind: Redirection.Kind,
        slot: Int,
        server: RedisURL.Location
    ) throws {
        let redirection = try #require(Redirection(RedisError(text), from: Self.asked))
        #expect(redirection.kind == kind && redirection.slot == slot)
        #expect(redirection.server == server)
    }

    @Test(
        "No redirections",
        arguments: [
            "MOVED", "MOVED 1", "MOVED x a:1", "MOVED 16384 a:1", "MOVED -1 a:1", "MOVED 1 a",
            "MOVED 1 a:0", "MOVED 1 a:65536", "MOVED 1 ?:1", "TRYAGAIN Multiple keys request",
            "CLUSTERDOWN The cluster is down", "ERR 1 a:1",
        ]
    )
    func readsNoRedirection(text: String) {
        #expect(Redirection(RedisError(text), from: Self.asked) == nil)
    }
}
