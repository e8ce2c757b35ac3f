import Broker
import BrokerConfiguration
import PusherProtocol
import TestRedis
import Testing

@testable import FanfareServer
@testable import Gateway
@testable import Shard

@Suite("Cluster: without Redis") struct ClusterOutageTests {
    private func health(_ node: TestBroker) async throws -> Answer {
        let wire = try Wire(port: node.port)
        try wire.send("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return try await wire.answer()
    }

    @Test("An event is refused, and nobody gets it", arguments: [true, false])
    func refusesEvents(isRecoverable: Bool) async throws {
        try await TestCluster.runRelayed {
            $0.apps[0].recovery.isEnabled = isRecoverable
        } _: { cluster, relay in
            let node = cluster.nodes[0]
            let (client, _) = try await node.subscribed(to: "private-a")
            let (other, _) = try await node.subscribed(to: "private-a")
            let start = ContinuousClock.now
            try await relay.cut(node)
            let answer = try await node.trigger("e", "1", on: "private-a")
            #expect(answer.status == 503 && answer.head.contains("Retry-After: 1\r\n"))
            #expect(answer.body.contains("Redis cannot be reached"), "\(answer.body)")
            #expect(answer.body.contains("is not published"), "\(answer.body)")
            #expect(ContinuousClock.now - start >= .milliseconds(500))
            // From then on at once.
            #expect(try await node.trigger("e", "2", on: "private-a").status == 503)
            try other.publish("client-e", "private-a", json: "3")
            #expect(try await other.nextText().contains("Client event rejected"))
            try await relay.set(.open)
            try await eventually {
                try await node.trigger("e", "4", on: "private-a").status == 200
            }
            let text = try await client.nextText()
            #expect(text == eventText("e", "private-a", data: "4"))
        }
    }

    @Test(
        "A query is refused when Redis stays away, and answered when it is back",
        arguments: [
            "channels", "channels/presence-a", "channels/presence-a/users",
            "channels/presence-a/history", "channels/cache-a",
        ]
    )
    func refusesQueries(path: String) async throws {
        try await TestCluster.runRelayed {
            $0.apps[0].recovery.isEnabled = true
            $0.cluster.redis.patience = 1
        } _: { cluster, relay in
            let node = cluster.nodes[0]
            let info = path == "channels/cache-a" ? [("info", "cache,position")] : []
            let request = SignedRequest(method: "GET", path: "/apps/1/\(path)", parameters: info)
            try await relay.cut(node)
            // The first waits, the second is refused at once.
            for _ in 0..<2 {
                let answer = try await Wire(port: node.port).ask(request)
                #expect(answer.status == 503 && answer.head.contains("Retry-After: 1\r\n"))
                #expect(answer.body.contains("Redis cannot be read"), "\(answer.body)")
            }
            try await relay.set(.open)
            try await eventually {
                try await Wire(port: node.port).ask(request).status == 200
            }
        }
    }

    @Test(
        "Requests that wait for Redis do not keep others from the port",
        arguments: [true, false]
    )
    func waitingRequests(isGivenUp: Bool) async throws {
        try await TestCluster.runRelayed(loops: 1) {
            $0.cluster.redis.patience = 60
            $0.admission.handshakesMax = 16
        } _: { cluster, relay in
            let node = cluster.nodes[0]
            try await relay.cut(node)
            let request = SignedRequest(method: "GET", path: "/apps/1/channels/a")
            let backends = try (0..<16).map { _ in try Wire(port: node.port) }
            for backend in backends { try backend.send(request.text) }
            if isGivenUp { for backend in backends { backend.endSending() } }
            let wire = try Wire(port: node.port)
            try wire.send("GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(try await wire.answer().status == 200)
            if isGivenUp {
                for backend in backends { #expect(try await backend.readToEnd().isEmpty) }
                try await eventually {
                    let sizes = await node.server.shards[0].usage
                    return sizes.handshakes <= 1
                }
            } else {
                let answer = try await backends[0].answer()
                #expect(answer.status == 503 && answer.head.contains("Retry-After: 1\r\n"))
            }
        }
    }

    @Test("Nobody claims that an event is not published which Redis may still read")
    func unknownOutcome() async throws {
        try await TestCluster.runRelayed { cluster, relay in
            let node = cluster.nodes[0]
            try await relay.set(.stalled)
            for key in ["", #","idempotency_key":"k""#] {
                let body = #"{"name":"e","channels":["a"],"data":"1"\#(key)}"#
                let wire = try Wire(port: node.port)
                let answer = try await wire.ask(SignedRequest(path: "/apps/1/events", body: body))
                #expect(answer.status == 503 && answer.head.contains("Retry-After: 1\r\n"))
                #expect(answer.body.contains("unknown whether"), "\(answer.body)")
                try await relay.set(.open)
                try await eventually {
                    try await node.trigger("e", "2", on: "a").status == 200
                }
                try await relay.set(.stalled)
            }
        }
    }

    @Test("Events wait for a connection that is back soon", arguments: [true, false])
    func waits(isRecoverable: Bool) async throws {
        try await TestCluster.runRelayed {
            $0.apps[0].recovery.isEnabled = isRecoverable
            $0.cluster.redis.patience = 20
        } _: { cluster, relay in
            let (client, _) = try await cluster.nodes[1].subscribed(to: "a")
            try await relay.cut(cluster.nodes[0])
            let wires = try (0..<5).map { _ in try Wire(port: cluster.nodes[0].port) }
            for (number, wire) in wires.enumerated() {
                let body = #"{"name":"e","channels":["a"],"data":"\#(number)"}"#
                try wire.send(SignedRequest(path: "/apps/1/events", body: body).text)
            }
            try await relay.set(.open)
            for wire in wires { #expect(try await wire.answer().status == 200) }
            var data: Set<String> = []
            for _ in 0..<5 { data.insert(try await client.nextText()) }
            #expect(data == Set((0..<5).map { eventText("e", "a", data: "\($0)") }))
        }
    }

    @Test(
        "A node is isolated, then it closes its clients, and serves again",
        .timeLimit(.minutes(1))
    )
    func isolation() async throws {
        try await TestCluster.runRelayed {
            $0.cluster.closeAfter = 6
        } _: { cluster, relay in
            let node = cluster.nodes[0]
            #expect(try await health(node).status == 200)
            let (client, _) = try await node.subscribed(to: "a")
            try await relay.set(.cut)
            // Waits, and is closed too.
            let (late, _) = try await node.connected()
            try late.send(#"{"event":"pusher:subscribe","data":{"channel":"b"}}"#)
            try await eventually { try await health(node).status == 503 }
            #expect(try await health(node).body.hasPrefix("isolated (fanfare 0.1.0)\n"))
            for client in [client, late] {
                let error = try await client.nextText()
                #expect(error.contains("4200"), "\(error)")
                #expect(try await client.next().opcode == 8)
            }
            let (refused) = try await node.connect()
            #expect(try await refused.nextText().contains("4100"))
            #expect(try await health(cluster.nodes[1]).status == 200)
            try await relay.set(.open)
            try await eventually { try await health(node).status == 200 }
            let (back, _) = try await node.subscribed(to: "a")
            #expect(try await cluster.nodes[1].trigger("e", "1", on: "a").status == 200)
            #expect(try await back.nextText() == eventText("e", "a", data: "1"))
        }
    }

    @Test(
        "A server that accepts connections and refuses the rest counts as lost, with the reason",
        .timeLimit(.minutes(1)),
        arguments: [
            (
                ["ACL", "SETUSER", "default", "-subscribe"],
                ["ACL", "SETUSER", "default", "+subscribe"], "NOPERM"
            ),
            (
                ["CONFIG", "SET", "min-replicas-to-write", "1"],
                ["CONFIG", "SET", "min-replicas-to-write", "0"], "NOREPLICAS"
            ),
            (
                ["CONFIG", "SET", "maxmemory", "1"], ["CONFIG", "SET", "maxmemory", "0"],
                "OOM command not allowed"
            ),
        ]
    )
    func refusingServer(refuse: [String], accept: [String], reason: String) async throws {
        try await TestCluster.run(nodes: 1, loops: 1) {
            $0.cluster.closeAfter = 6
            $0.apps[0].recovery.isEnabled = true
        } _: { cluster in
            let node = cluster.nodes[0]
            let (client, _) = try await node.subscribed(to: "a")
            _ = try cluster.redis.command(refuse)
            let (late, _) = try await node.connected()
            try late.send(#"{"event":"pusher:subscribe","data":{"channel":"b"}}"#)
            try await eventually { try await health(node).status == 503 }
            #expect(try await health(node).body.contains(reason))
            if reason.hasPrefix("OOM") {
                // Its own report says so, too: for `fanfare nodes`.
                try await eventually {
                    let key = try cluster.redis.command("EVAL", Self.reportKey, "0")
                    return try cluster.redis.command("HGET", key, "reason").contains(reason)
                }
                try await expectUnreadable(node)
            }
            for client in [client, late] {
                let error = try await client.nextText()
                #expect(error.contains("4200"), "\(error)")
            }
            _ = try cluster.redis.command(accept)
            try await eventually { try await health(node).status == 200 }
            let (back, _) = try await node.subscribed(to: "a")
            #expect(try await node.trigger("e", "1", on: "a").status == 200)
            #expect(try await back.nextText() == eventText("e", "a", data: "1"))
        }
    }

    private static let reportKey = "return redis.call('KEYS', '*}:d:*')[1]"

    /// Expects that neither a history nor a position is answered with nothing.
    private func expectUnreadable(_ node: TestBroker) async throws {
        for (path, info) in [("a", [("info", "position")]), ("a/history", [])] {
            let request = SignedRequest(
                method: "GET",
                path: "/apps/1/channels/\(path)",
                parameters: info
            )
            let answer = try await Wire(port: node.port).ask(request)
            #expect(answer.status == 503, "\(path): \(answer.body)")
        }
    }

    @Test("A node that does not reach Redis does not start")
    func refusesToStart() async throws {
        let redis = try RedisProcess()
        redis.stop()
        await #expect {
            try await TestCluster.run(nodes: 1, redis: redis) { _ in }
        } throws: { error in
            "\(error)".hasPrefix("The node cannot join its cluster (cluster.redis): redis+unix://")
        }
    }
}
