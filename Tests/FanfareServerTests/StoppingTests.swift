import BrokerConfiguration
import Testing

@testable import Cluster
@testable import FanfareServer

@Suite("A broker that stops", .timeLimit(.minutes(1))) struct StoppingTests {
    /// A broker that a test stops itself.
    private func withBroker(
        loops: Int = 1,
        _ shutdown: Configuration.Shutdown,
        _ body: (TestBroker) async throws -> Void
    ) async throws {
        try await TestBroker.run(loops: loops) {
            $0.shutdown = shutdown
        } _: { broker in
            try await body(broker)
        }
    }

    private func shutdown(deadline: Int, pace: Int, notice: Int = 0) -> Configuration.Shutdown {
        var shutdown = Configuration.Shutdown()
        shutdown.deadline = deadline
        shutdown.pace = pace
        shutdown.notice = notice
        return shutdown
    }

    @Test("Clients are closed evenly, each with 4200", arguments: [1, 3])
    func pace(loops: Int) async throws {
        try await withBroker(loops: loops, shutdown(deadline: 20, pace: 50)) { broker in
            var clients: [WebSocketWire] = []
            for _ in 0..<25 { clients.append(try await broker.connected().0) }
            let start = ContinuousClock.now
            async let stop: Void = broker.server.stop()
            for client in clients {
                let error = try await client.nextText()
                #expect(error.contains(#""code":4200,"message":"The broker is stopping""#))
                #expect(try await client.next().closeCode == 4200)
                try client.send(opcode: 8, [0x10, 0x68])
            }
            await stop
            // 25 at 50 a second, the first of them at once.
            let elapsed = ContinuousClock.now - start
            #expect(.milliseconds(400) < elapsed && elapsed < .seconds(20))
        }
    }

    @Test("A pace that is too slow for the deadline is raised")
    func deadline() async throws {
        try await withBroker(loops: 2, shutdown(deadline: 5, pace: 1)) { broker in
            var clients: [WebSocketWire] = []
            for _ in 0..<40 { clients.append(try await broker.connected().0) }
            let start = ContinuousClock.now
            async let stop: Void = broker.server.stop()
            for client in clients {
                #expect(try await client.nextText().contains(#""code":4200"#))
                #expect(try await client.next().closeCode == 4200)
                try client.send(opcode: 8, [0x10, 0x68])
            }
            await stop
            // Neither forty seconds nor all at once.
            #expect(ContinuousClock.now - start > .seconds(3))
        }
    }

    @Test("/health answers 503 first, and clients are admitted during the notice")
    func notice() async throws {
        try await withBroker(shutdown(deadline: 20, pace: 1_000, notice: 1)) { broker in
            let (client, _) = try await broker.connected()
            try await client.subscribe(to: "news")
            let balancer = try Wire(port: broker.port)
            try balancer.send("GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await balancer.answer().status == 200)
            async let stop: Void = broker.server.stop()
            try await eventually {
                try balancer.send("GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
                let answer = try await balancer.answer()
                return answer.status == 503 && answer.body == "stopping (fanfare 0.1.0)\n"
            }
            let (newClient, _) = try await broker.connected()
            #expect(try await broker.trigger("e", "1", on: "news").status == 200)
            #expect(try await client.nextText().contains(#""event":"e""#))
            for client in [client, newClient] {
                #expect(try await client.nextText().contains(#""code":4200"#))
                #expect(try await client.next().closeCode == 4200)
                try client.send(opcode: 8, [0x10, 0x68])
            }
            await stop
            #expect(throws: Wire.Failure.self) { try Wire(port: broker.port) }
        }
    }

    @Test("Requests in progress are answered when the listeners close")
    func requestsUnderWay() async throws {
        try await withBroker(shutdown(deadline: 20, pace: 1_000)) { broker in
            let health = try Wire(port: broker.port)
            try health.send("GET /health HTTP/1.1\r\nHost: ")
            let body = #"{"name":"e","channels":["news"],"data":"1"}"#
            let request = SignedRequest(path: "/apps/1/events", body: body).text
            let backend = try Wire(port: broker.port)
            try backend.send(String(request.dropLast(10)))
            let upgrade = try Wire(port: broker.port)
            try upgrade.send(
                "GET /app/app-key?protocol=7 HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n"
            )
            let (client, _) = try await broker.connected()
            async let stop: Void = broker.server.stop()
            #expect(try await client.nextText().contains(#""code":4200"#))

            try health.send("a\r\n\r\n")
            let answer = try await health.answer()
            #expect(answer.status == 503)
            #expect(answer.head.lowercased().contains("connection: close"))
            try backend.send(String(request.suffix(10)))
            #expect(try await backend.answer().status == 200)
            try upgrade.send(
                "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                    + "Sec-WebSocket-Version: 13\r\n\r\n"
            )
            #expect(try await upgrade.read(through: "\r\n\r\n").hasPrefix("HTTP/1.1 101 "))
            #expect(try await upgrade.read(through: "}}").contains(#""code":4200"#))
            await stop
        }
    }

    @Test("A client gets its queue before it is closed")
    func queue() async throws {
        try await withBroker(loops: 2, shutdown(deadline: 20, pace: 1_000)) { broker in
            let (client, _) = try await broker.connected()
            try await client.subscribe(to: "news")
            // More than the socket's buffers hold.
            let data = String(repeating: "x", count: 10_000)
            let count = 400
            let backend = try Wire(port: broker.port)
            for _ in 0..<count / 10 {
                let event = #"{"name":"e","channel":"news","data":"\#(data)"}"#
                let events = Array(repeating: event, count: 10).joined(separator: ",")
                let request = SignedRequest(
                    path: "/apps/1/batch_events",
                    body: "{\"batch\":[\(events)]}"
                )
                #expect(try await backend.ask(request).status == 200)
            }
            async let stop: Void = broker.server.stop()
            for _ in 0..<count { #expect(try await client.nextText().contains(data)) }
            #expect(try await client.nextText().contains(#""code":4200"#))
            #expect(try await client.next().closeCode == 4200)
            await stop
        }
    }

    @Test("A silent peer does not delay the stop beyond the deadline")
    func silence() async throws {
        try await withBroker(shutdown(deadline: 1, pace: 1_000)) { broker in
            let silent = try Wire(port: broker.port)
            try silent.send("GET / HTTP/1.1\r\n")
            try await eventually {
                try Wire(port: broker.port).send("x")
                return true
            }
            let start = ContinuousClock.now
            await broker.server.stop()
            #expect(ContinuousClock.now - start < .seconds(10))
            _ = try? await silent.readToEnd()
        }
    }

    @Test("A node of a cluster stops as soon as its clients are gone, and has left the cluster")
    func clusterNode() async throws {
        let shutdown = shutdown(deadline: 30, pace: 1_000)
        try await TestCluster.run {
            $0.shutdown = shutdown
        } _: { cluster in
            let (client, _) = try await cluster.nodes[0].subscribed(to: "presence-a")
            let start = ContinuousClock.now
            let server = cluster.nodes[0].server
            async let stop: Void = server.stop()
            #expect(try await client.nextText().contains(#""code":4200"#))
            #expect(try await client.next().closeCode == 4200)
            try client.send(opcode: 8, [0x10, 0x68])
            await stop
            #expect(ContinuousClock.now - start < .seconds(15))
            let name = try #require(server.cluster?.node)
            let keys = try cluster.redis.command(
                "EVAL",
                """
                for _, key in ipairs(redis.call('KEYS', '*}:nodes')) do
                    if redis.call('ZSCORE', key, ARGV[1]) then return key end
                end
                return 'none'
                """,
                "0",
                name
            )
            #expect(keys == "none")
        }
    }

    @Test("The API of a stopped or never started broker still returns")
    func answersAfterwards() async throws {
        var configuration = Configuration.development
        configuration.port = 0
        configuration.loops = 2
        let server = try BrokerServer(configuration: configuration)
        #expect(await server.connectionCount == 0)
        #expect(await server.metrics.contains("fanfare_connections 0"))
        await server.stop(within: .zero)

        let other = try BrokerServer(configuration: configuration)
        _ = try await other.start()
        let same = configuration
        // So it does during the stop.
        await withTaskGroup { group in
            for _ in 0..<4 {
                group.addTask { for _ in 0..<50 { _ = await other.metrics } }
                group.addTask { for _ in 0..<10 { _ = try? await other.reload(same) } }
            }
            group.addTask { await other.stop(within: .zero) }
        }
        #expect(await other.connectionCount == 0)
        #expect(try await other.reload(configuration).restartKeys.isEmpty)
        #expect(await other.metrics.contains("fanfare_connections 0"))
    }

    @Test("The pace is evenly spread, and as fast as the deadline needs")
    func pacing() {
        let slow = DrainPace(perSecond: 100, count: 1_000, time: .seconds(100))
        #expect(slow.closedCount(after: .milliseconds(20), of: 1_000) == 2)
        #expect(slow.closedCount(after: .seconds(5), of: 1_000) == 500)
        #expect(slow.closedCount(after: .seconds(50), of: 1_000) == 1_000)
        let raised = DrainPace(perSecond: 100, count: 8_000, time: .seconds(10))
        #expect(raised.closedCount(after: .seconds(4), of: 8_000) == 4_000)
        #expect(raised.closedCount(after: .seconds(8), of: 8_000) == 8_000)
        let atOnce = DrainPace(perSecond: 1, count: 50, time: .zero)
        #expect(atOnce.closedCount(after: .zero, of: 50) == 50)
        let none = DrainPace(perSecond: 1, count: 0, time: .seconds(1))
        #expect(none.closedCount(after: .seconds(1), of: 0) == 0)
    }
}
