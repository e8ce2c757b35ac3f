import Broker
import BrokerConfiguration
import PusherProtocol
import TestRedis
import Testing

@testable import FanfareServer

@Suite("Cluster: several stores") struct ClusterStoresTests {
    /// Runs two nodes on two stores, of which the first node reaches the second one through a relay.
    private func run(
        loops: Int = 2,
        _ change: @escaping (inout Configuration) -> Void = { _ in },
        _ body: (TestCluster, RedisProcess, RedisRelay) async throws -> Void
    ) async throws {
        let (first, second) = (try RedisProcess(), try RedisProcess())
        let relay = RedisRelay(to: second.socket)
        defer { relay.end() }
        try await TestCluster.run(loops: loops, redis: first) { configuration in
            let isFirst = configuration.cluster.node == "node-0"
            configuration.cluster.redis.urls.append(
                isFirst ? relay.address : "redis+unix://\(second.socket)"
            )
            change(&configuration)
        } _: { cluster in
            try await body(cluster, second, relay)
        }
    }

    /// Channels whose messages are in a store.
    private func channels(in store: Int, prefix: String = "", _ count: Int = 3) throws -> [String] {
        var (found, number): ([String], Int) = ([], 0)
        while found.count < count {
            let name = "\(prefix)\(number)"
            let address = ChannelAddress(app: AppID("1"), name: try ChannelName(name))
            if address.home(among: 8) % 2 == store { found.append(name) }
            number += 1
        }
        return found
    }

    @Test("Each store has its share of the channels, and all nodes see all", arguments: [1, 2, 3])
    func shares(loops: Int) async throws {
        try await run(loops: loops) { cluster, second, _ in
            var names: [String] = []
            for store in 0..<2 {
                for name in try channels(in: store) {
                    names.append(name)
                    var clients: [TrackingWire] = []
                    for node in cluster.nodes { clients.append(try await TrackingWire(node, name)) }
                    for (number, node) in cluster.nodes.enumerated() {
                        let answer = try await node.trigger("e", "\(number)", on: name)
                        #expect(answer.status == 200)
                    }
                    for client in clients { #expect(try await client.next(2) == ["0", "1"]) }
                    clients[0].cut()
                    #expect(try await cluster.nodes[0].trigger("e", "2", on: name).status == 200)
                    let back = try await TrackingWire(cluster.nodes[1], name, behind: clients[0])
                    #expect(back.start.continuity == .recovered(replay: 1))
                    let script = "return #redis.call('KEYS', '*:h:1:' .. ARGV[1])"
                    for (number, redis) in [cluster.redis, second].enumerated() {
                        let count = try redis.command("EVAL", script, "0", name)
                        #expect(count == (number == store ? ":1" : ":0"))
                    }
                    let query = try await Wire(port: cluster.nodes[1].port)
                        .ask(SignedRequest(method: "GET", path: "/apps/1/channels/\(name)"))
                    #expect(query.body.contains(#""occupied":true"#), "\(query.body)")
                    withExtendedLifetime(clients) {}
                }
            }
        }
    }

    @Test("One request publishes in several stores, and lists are those of all")
    func requests() async throws {
        try await run { cluster, _, _ in
            let names = try channels(in: 0) + channels(in: 1)
            let (client, _) = try await cluster.nodes[1].subscribed(to: names[0])
            for name in names.dropFirst() {
                try client.send(#"{"event":"pusher:subscribe","data":{"channel":"\#(name)"}}"#)
                _ = try await client.nextText()
            }
            let list = names.map { "\"\($0)\"" }.joined(separator: ",")
            let body = #"{"name":"e","channels":[\#(list)],"data":"1"}"#
            let answer = try await Wire(port: cluster.nodes[0].port)
                .ask(SignedRequest(path: "/apps/1/events", body: body))
            #expect(answer.status == 200)
            var seen: Set<String> = []
            for _ in names { seen.insert(try await client.nextText()) }
            #expect(seen == Set(names.map { eventText("e", $0, data: "1") }))
            let channels = try await Wire(port: cluster.nodes[0].port)
                .ask(SignedRequest(method: "GET", path: "/apps/1/channels"))
            for name in names { #expect(channels.body.contains("\"\(name)\""), "\(channels.body)") }
        }
    }

    @Test(
        "A lost store concerns its own channels alone",
        .timeLimit(.minutes(1)),
        arguments: [1, 2]
    )
    func isolation(loops: Int) async throws {
        try await run(loops: loops) {
            $0.cluster.closeAfter = 6
        } _: { cluster, _, relay in
            let node = cluster.nodes[0]
            func health() async throws -> Answer {
                let wire = try Wire(port: node.port)
                try wire.send("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                return try await wire.answer()
            }
            let (kept, lost) = (try channels(in: 0)[0], try channels(in: 1)[0])
            let (client, _) = try await node.subscribed(to: kept)
            let (affected, _) = try await node.subscribed(to: lost)
            let (both, _) = try await node.subscribed(to: kept)
            try await both.subscribe(to: [lost])
            try await relay.set(.cut)
            #expect(try await node.trigger("e", "1", on: lost).status == 503)
            #expect(try await node.trigger("e", "1", on: kept).status == 200)
            for client in [client, both] {
                #expect(try await client.nextText() == eventText("e", kept, data: "1"))
            }
            try await eventually { try await health().status == 503 }
            for client in [affected, both] {
                let error = try await client.nextText()
                #expect(error.contains("4200"), "\(error)")
            }
            // New clients are served on the other store, and wait for nothing.
            let (new, _) = try await node.subscribed(to: kept)
            #expect(try await cluster.nodes[1].trigger("e", "2", on: kept).status == 200)
            for client in [client, new] {
                #expect(try await client.nextText() == eventText("e", kept, data: "2"))
            }
            try new.send(#"{"event":"pusher:subscribe","data":{"channel":"\#(lost)"}}"#)
            #expect(try await new.nextText().contains("4200"))
            // A list needs all of them.
            func list() async throws -> Answer {
                let wire = try Wire(port: node.port)
                try wire.send(SignedRequest(method: "GET", path: "/apps/1/channels").text)
                return try await wire.answer()
            }
            let refusal = try await list()
            #expect(refusal.status == 503 && refusal.head.contains("Retry-After"))
            try await relay.set(.open)
            try await eventually { try await health().status == 200 }
            #expect(try await list().body.contains("\"\(kept)\""))
            let (back, _) = try await node.subscribed(to: lost)
            #expect(try await cluster.nodes[1].trigger("e", "3", on: lost).status == 200)
            #expect(try await back.nextText() == eventText("e", lost, data: "3"))
        }
    }

    @Test("Behind a cut the channels of the store are caught up, and the others not interrupted")
    func catchUp() async throws {
        try await run {
            $0.cluster.redis.patience = 20
        } _: { cluster, _, relay in
            let names = [try channels(in: 0)[0], try channels(in: 1)[0]]
            var clients: [TrackingWire] = []
            for name in names { clients.append(try await TrackingWire(cluster.nodes[0], name)) }
            try await relay.set(.cut)
            for name in names {
                for number in 1...3 {
                    let answer = try await cluster.nodes[1].trigger("e", "\(number)", on: name)
                    #expect(answer.status == 200)
                }
            }
            #expect(try await clients[0].next(3) == ["1", "2", "3"])
            try await relay.set(.open)
            #expect(try await clients[1].next(3) == ["1", "2", "3"])
        }
    }
}
