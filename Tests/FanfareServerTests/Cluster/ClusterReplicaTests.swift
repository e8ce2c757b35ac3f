import BrokerConfiguration
import PusherProtocol
import Redis
import TestRedis
import Testing

@testable import FanfareServer

@Suite("Cluster: a primary and its replicas", .timeLimit(.minutes(2)))
struct ClusterReplicaTests {
    /// A primary and its replica, whose link can be held.
    private struct Replicated {
        let primary: RedisProcess
        let replica: RedisProcess
        /// The time behind the replica's start.
        let startTime: Int64
        /// Between the two.
        let link: RedisRelay
        /// Between the nodes and the primary.
        let relay: RedisRelay

        init() throws {
            primary = try RedisProcess(["--repl-diskless-sync-delay", "0"])
            link = RedisRelay(to: primary.socket, hasPort: true)
            replica = try ClusterReplicaTests.replica(behind: link)
            startTime = try replica.milliseconds
            relay = RedisRelay(to: primary.socket)
        }

        /// Waits until the replica has everything.
        func settle() async throws {
            try await ClusterReplicaTests.wait(for: 1, of: primary)
        }

        /// Has the replica take the place of the primary, which ends.
        func failOver() async throws {
            #expect(try replica.command("REPLICAOF", "NO", "ONE") == "+OK")
            try await relay.set(.cut)
            relay.retarget(to: replica.socket)
            primary.stop()
            try await relay.set(.open)
        }

        func end() {
            relay.end()
            link.end()
        }
    }

    private static func replica(behind link: RedisRelay) throws -> RedisProcess {
        try RedisProcess(
            ["--replicaof", "127.0.0.1", "\(link.port)", "--repl-diskless-sync-delay", "0"]
        )
    }

    /// Waits until so many replicas have everything.
    private static func wait(for count: Int, of primary: RedisProcess) async throws {
        try await eventually {
            try primary.command("INCRBY", "waiting", "1").hasPrefix(":")
                && primary.command("WAIT", "\(count)", "100") == ":\(count)"
        }
    }

    private func run(
        _ acknowledge: ClusterConfiguration.Redis.Acknowledgement,
        _ body: (TestCluster, Replicated) async throws -> Void
    ) async throws {
        let servers = try Replicated()
        defer { servers.end() }
        try await servers.settle()
        try await TestCluster.run(at: servers.relay.address, redis: servers.primary) {
            $0.cluster.redis.acknowledge = acknowledge
        } _: { cluster in
            try await body(cluster, servers)
        }
    }

    /// Whether a field of all partitions' epochs has a value.
    private func hasEpochs(_ redis: RedisProcess, _ field: String, _ value: String) throws -> Bool {
        let script = "return redis.call('HGET', KEYS[1], ARGV[1]) == ARGV[2] and 1 or 0"
        return try PartitionKeys.all(prefix: "f", count: 8).allSatisfy { keys in
            try redis.command("EVAL", script, "1", "\(keys.epoch)", field, value) == ":1"
        }
    }

    @Test(
        "No client resumes past the messages that a promoted replica lacks",
        arguments: [false, true]
    )
    func failover(isAcknowledgedByReplica: Bool) async throws {
        try await run(isAcknowledgedByReplica ? .replica : .primary) { cluster, servers in
            let nodes = cluster.nodes
            let (here, there) = (nodes[0], nodes[1])
            let live = try await TrackingWire(here, "a")
            let early = try await TrackingWire(there, "a")
            let late = try await TrackingWire(there, "a")
            for number in 1...10 {
                #expect(try await there.trigger("e", "\(number)", on: "a").status == 200)
            }
            _ = try await early.next(10)
            early.cut()
            try await servers.primary.outlasts(startAt: servers.startTime)
            try await servers.settle()

            try await servers.link.set(.stalled)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 11...50 {
                    group.addTask {
                        let node = nodes[number % 2]
                        let answer = try await node.trigger("e", "\(number)", on: "a")
                        guard isAcknowledgedByReplica else {
                            return #expect(answer.status == 200)
                        }
                        #expect(answer.status == 503)
                        #expect(answer.head.contains("Retry-After: 1\r\n"))
                        let text = "Only 0 of 1 Redis replicas have confirmed an event"
                        #expect(answer.body.contains(text), "\(answer.body)")
                        #expect(answer.body.contains("it may have been published"))
                    }
                }
                try await group.waitForAll()
            }
            _ = try await live.next(50)
            _ = try await late.next(50)
            late.cut()
            #expect(live.serial == 50 && late.serial == 50)

            try await servers.failOver()
            let start = try await live.restart()
            #expect(start.position.stream != live.position.stream && start.position.serial == 0)
            // Others of the partitions are registered later.
            try await eventually {
                try hasEpochs(servers.replica, "clean", isAcknowledgedByReplica ? "1" : "0")
            }
            if !isAcknowledgedByReplica {
                #expect(start.continuity == .gap(RecoveryGap(.unknownStream)))
            }
            for client in [early, late] {
                let back = try await TrackingWire(here, "a", behind: client)
                #expect(back.position.stream == start.position.stream && back.serial == 0)
                guard !isAcknowledgedByReplica else { continue }
                #expect(back.start.continuity == .gap(RecoveryGap(.unknownStream)))
            }

            // With another replica, publishers get their acknowledgements again.
            let link = RedisRelay(to: servers.replica.socket, hasPort: true)
            defer { link.end() }
            let other = try Self.replica(behind: link)
            try await Self.wait(for: 1, of: servers.replica)
            #expect(try await there.trigger("e", "51", on: "a").status == 200)
            let text = try await live.client.nextText()
            #expect(text.contains(#""data":"51","serial":1}"#), "\(text)")
            withExtendedLifetime(other) {}
        }
    }

    @Test("An event that was not confirmed is repeated under its key, and delivered once")
    func repetition() async throws {
        try await run(.replica) { cluster, servers in
            let (client, _) = try await cluster.nodes[1].subscribed(to: "a")
            func trigger(_ data: String) async throws -> Answer {
                let body =
                    #"{"name":"e","channels":["a"],"data":"\#(data)","idempotency_key":"\#(data)"}"#
                return try await Wire(port: cluster.nodes[0].port)
                    .ask(SignedRequest(path: "/apps/1/events", body: body))
            }
            #expect(try await trigger("1").status == 200)
            try await servers.link.set(.stalled)
            #expect(try await trigger("2").status == 503)
            // Repeated, and still not confirmed.
            #expect(try await trigger("2").status == 503)
            try await servers.link.set(.open)
            try await servers.settle()
            #expect(try await trigger("2").status == 200)
            #expect(try await trigger("3").status == 200)
            for data in ["1", "2", "3"] {
                let text = try await client.nextText()
                #expect(text.contains("\"data\":\"\(data)\""), "\(text)")
            }
        }
    }

    @Test("An epoch is clean only if no replica was left out")
    func anotherReplica() async throws {
        try await run(.replica) { cluster, servers in
            #expect(try hasEpochs(servers.primary, "mode", "all"))
            let link = RedisRelay(to: servers.primary.socket, hasPort: true)
            defer { link.end() }
            let other = try Self.replica(behind: link)
            try await Self.wait(for: 2, of: servers.primary)
            // Noticed with the next events of each shard.
            for channel in 0..<16 {
                let answer = try await cluster.nodes[0].trigger("e", "1", on: "c\(channel)")
                #expect(answer.status == 200)
            }
            #expect(try hasEpochs(servers.primary, "mode", "replica"))
            // One of the two is enough for an acknowledgement.
            try await link.set(.stalled)
            #expect(try await cluster.nodes[1].trigger("e", "1", on: "a").status == 200)
            withExtendedLifetime(other) {}
        }
    }

    @Test("Events in flight behind a cut are repeated under their keys, and confirmed")
    func cut() async throws {
        try await run(.replica) { cluster, servers in
            let client = try await TrackingWire(cluster.nodes[1], "a")
            let port = cluster.nodes[0].port
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<40 {
                    group.addTask {
                        let body =
                            #"{"name":"e","channels":["a"],"data":"\#(number)","idempotency_key":"\#(number)"}"#
                        var status = 503
                        while status == 503 {
                            let wire = try Wire(port: port)
                            let request = SignedRequest(path: "/apps/1/events", body: body)
                            status = try await wire.ask(request).status
                        }
                        #expect(status == 200)
                    }
                }
                try await servers.relay.set(.cut)
                try await servers.relay.set(.open)
                try await group.waitForAll()
            }
            let seen = try await client.next(40)
            #expect(Set(seen).count == 40)
            try await client.client.expectNothing()
        }
    }

    @Test("A node does not start with fewer replicas than have to confirm")
    func refusesToStart() async throws {
        await #expect {
            try await TestCluster.run(nodes: 1) {
                $0.cluster.redis.acknowledge = .replica
                $0.cluster.redis.replicas = 2
            } _: { _ in
            }
        } throws: { error in
            "\(error)".contains("0 replicas are connected, and cluster.redis.replicas is 2")
        }
    }
}
