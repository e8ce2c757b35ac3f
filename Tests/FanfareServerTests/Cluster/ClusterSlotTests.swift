import Broker
import BrokerConfiguration
import PusherProtocol
import Redis
import Synchronization
import TestPorts
import TestRedis
import Testing

@testable import Cluster
@testable import FanfareServer

@Suite("Cluster: a Redis Cluster", .timeLimit(.minutes(2))) struct ClusterSlotTests {
    /// Runs two nodes, each of which is given another server of three.
    private func run(
        loops: Int = 2,
        haveReplicas: Bool = false,
        _ change: @escaping (inout Configuration) -> Void = { _ in },
        _ body: (TestCluster, [RedisClusterServer]) async throws -> Void
    ) async throws {
        let servers = try await RedisClusterServer.three()
        var replicas: [RedisClusterServer] = []
        for server in haveReplicas ? servers : [] {
            replicas.append(try await server.replica(knownTo: servers + replicas))
        }
        let addresses = servers.map(\.address)
        try await TestCluster.run(loops: loops, redis: servers[0].redis) { configuration in
            let isFirst = configuration.cluster.node == "node-0"
            configuration.cluster.redis.urls = [addresses[isFirst ? 0 : 2]]
            configuration.cluster.redis.mode = isFirst ? .auto : .cluster
            configuration.cluster.redis.patience = 20
            change(&configuration)
        } _: { cluster in
            try await body(cluster, servers)
        }
        withExtendedLifetime((servers, replicas)) {}
    }

    /// A channel of a partition.
    private func channel(in partition: Int, prefix: String = "c") throws -> String {
        var number = 0
        while true {
            let name = try ChannelName("\(prefix)\(number)")
            let address = ChannelAddress(app: AppID("1"), name: name)
            if address.home(among: 8) == partition { return name.text }
            number += 1
        }
    }

    private func slot(of partition: Int) -> Int {
        PartitionKeys.all(prefix: "f", count: 8)[partition].slot
    }

    @Test(
        "Each partition is at the server of its slot, and all nodes see all",
        arguments: [(loops: 1, isRecoverable: true), (2, false)]
    )
    func shares(loops: Int, isRecoverable: Bool) async throws {
        try await run(loops: loops) {
            $0.apps[0].recovery.isEnabled = isRecoverable
            $0.apps[0].features.subscriptionCount = true
        } _: { cluster, servers in
            var (names, clients): ([String], [WebSocketWire]) = ([], [])
            for partition in 0..<8 {
                let channel = try channel(in: partition)
                names.append(channel)
                let (first, _) = try await cluster.nodes[0].subscribed(to: channel)
                #expect(try await first.nextText().contains(#""subscription_count\":1"#))
                let (second, _) = try await cluster.nodes[1].subscribed(to: channel)
                clients += [first, second]
                for client in [first, second] {
                    #expect(try await client.nextText().contains(#""subscription_count\":2"#))
                }
                for (number, node) in cluster.nodes.enumerated() {
                    let answer = try await node.trigger("e", "\(number)", on: channel)
                    #expect(answer.status == 200, "\(answer.body)")
                    for client in [first, second] {
                        #expect(try await client.nextText().contains(#""data":"\#(number)""#))
                    }
                }
                let slot = slot(of: partition)
                for (index, server) in servers.enumerated() {
                    let isOwner = index == RedisClusterServer.owner(of: slot)
                    #expect(try server.keys(in: slot).isEmpty == !isOwner)
                }
            }
            let list = try await Wire(port: cluster.nodes[1].port)
                .ask(SignedRequest(method: "GET", path: "/apps/1/channels"))
            for name in names { #expect(list.body.contains("\"\(name)\""), "\(list.body)") }
            try await check(servers)
            withExtendedLifetime(clients) {}
        }
    }

    /// Lists the nodes and assesses the servers, as the commands do.
    private func check(_ servers: [RedisClusterServer]) async throws {
        var configuration = ClusterConfiguration()
        (configuration.engine, configuration.partitions) = (.redis, 8)
        configuration.redis.urls = [servers[1].address]
        let inspector = try ClusterInspector(configuration)
        let listing = try await inspector.nodes()
        #expect(listing.nodes.map(\.name) == ["node-0", "node-1"])
        #expect(listing.nodes.map(\.storeCount) == [3, 3])
        #expect(listing.storeCount == 3 && !listing.hasFaults)
        let found = try await inspector.servers()
        #expect(found.fault == nil)
        #expect(Set(found.all.map(\.name)) == Set(servers.map(\.address)))
        #expect(found.all.flatMap(\.partitions).sorted() == Array(0..<8))
        for server in found.all {
            let assessment = try await inspector.assess(server)
            #expect(assessment.faults.isEmpty)
            #expect(assessment.warnings.contains { $0.contains("CLUSTER REPLICATE") })
        }
        // One server has the layout for all.
        configuration.partitions = 16
        let other = try ClusterInspector(configuration)
        var faults: [String] = []
        for server in try await other.servers().all {
            faults += try await other.assess(server).faults
        }
        #expect(faults.count == 1)
        #expect(faults.first?.hasPrefix("its data is of 8 partitions, by slots") == true)
    }

    @Test("What was missed follows on another node")
    func resumes() async throws {
        try await run { cluster, _ in
            for partition in [0, 3, 7] {
                let channel = try channel(in: partition)
                let first = try await TrackingWire(cluster.nodes[0], channel)
                first.cut()
                for number in 1...3 {
                    let answer = try await cluster.nodes[0].trigger("e", "\(number)", on: channel)
                    #expect(answer.status == 200)
                }
                let second = try await TrackingWire(cluster.nodes[1], channel, behind: first)
                #expect(second.start.continuity == .recovered(replay: 3))
                #expect(try await second.next(3) == ["1", "2", "3"])
            }
        }
    }

    // MARK: - Slots that move

    @Test(
        "A slot moves under load: each event comes once and in order, and nobody notices",
        arguments: [(loops: 1, isAcknowledgedByReplica: false), (2, false), (1, true)]
    )
    func movesASlot(loops: Int, isAcknowledgedByReplica: Bool) async throws {
        try await run(loops: loops, haveReplicas: isAcknowledgedByReplica) {
            $0.cluster.redis.acknowledge = isAcknowledgedByReplica ? .replica : .primary
        } _: { cluster, servers in
            let (moving, staying) = (try channel(in: 0), try channel(in: 7))
            var clients: [TrackingWire] = []
            for node in cluster.nodes { clients.append(try await TrackingWire(node, moving)) }
            let kept = try await TrackingWire(cluster.nodes[0], staying)
            let publishers = cluster.nodes.enumerated()
                .map { Publisher("\($0)", on: moving, at: $1.port) }
            try await servers[0].move(slot(of: 0), to: servers[1])
            try await eventually { await movedCount(of: cluster.nodes) >= 2 }
            try await servers[1].move(slot(of: 0), to: servers[2])
            try await eventually { await movedCount(of: cluster.nodes) >= 4 }
            var counts: [Int] = []
            for publisher in publishers { counts.append(try await publisher.stop()) }
            let seen = try await clients[0].next(counts[0] + counts[1])
            #expect(try await clients[1].next(seen.count) == seen)
            for (number, count) in counts.enumerated() {
                let own = seen.compactMap(\.self).filter { $0.hasPrefix("\(number) ") }
                #expect(own == (0..<count).map { "\(number) \($0)" })
            }
            #expect(try servers[0].keys(in: slot(of: 0)).isEmpty)
            #expect(try !servers[2].keys(in: slot(of: 0)).isEmpty)
            #expect(try await cluster.nodes[1].trigger("e", "1", on: staying).status == 200)
            #expect(try await kept.next() == "1")
            for node in cluster.nodes {
                for trouble in ["divergences", "gaps_reported"] {
                    #expect(await node.metric("fanfare_cluster_\(trouble)_total") == 0)
                }
            }
        }
    }

    /// The number of moves that nodes have followed, each for itself.
    private func movedCount(of nodes: [TestBroker]) async -> Int {
        var count = 0
        for node in nodes {
            count += await node.metric("fanfare_cluster_partitions_moved_total") ?? 0
        }
        return count
    }

    @Test("A session of a stock client goes on at another node, when its slot moves meanwhile")
    func movesSessions() async throws {
        try await run { cluster, servers in
            let token = StockWire.token(in: 120)
            let channel = try channel(in: 7)
            let first = try await StockWire(cluster.nodes[0], token)
            #expect(try await first.subscribe(to: channel) == "{}")
            #expect(try await cluster.nodes[1].trigger("e", "1", on: channel).status == 200)
            #expect(try await first.events(1) == ["1"])
            try await first.confirm()
            // Every slot, since the token's is unknown.
            for partition in 0..<8 {
                let slot = slot(of: partition)
                let owner = RedisClusterServer.owner(of: slot)
                try await servers[owner].move(slot, to: servers[(owner + 1) % 3])
            }
            try await first.cut(cluster.nodes[0])
            #expect(try await cluster.nodes[0].trigger("e", "2", on: channel).status == 200)
            let second = try await StockWire(cluster.nodes[1], token)
            let start = try await second.subscribe(to: channel)
            #expect(start == #"{"recovered":true,"replay":1}"#)
            #expect(try await second.events(1) == ["2"])
        }
    }

    @Test("Members stay, and channels without positions go on, when a slot moves")
    func movesMembers() async throws {
        try await run {
            $0.apps[0].recovery.isEnabled = false
        } _: { cluster, servers in
            let room = try channel(in: 0, prefix: "presence-")
            let plain = try channel(in: 0)
            let (ann, _) = try await cluster.nodes[0].joined(room, as: "ann")
            let (bob, _) = try await cluster.nodes[1].joined(room, as: "bob")
            #expect(try await ann.nextText() == Notice.added("bob", room))
            let (client, _) = try await cluster.nodes[1].subscribed(to: plain)
            try await servers[0].move(slot(of: 0), to: servers[1])
            // The node of the new member has come to the new server by then.
            let (cat, users) = try await cluster.nodes[0].joined(room, as: "cat")
            #expect(users == ["ann", "bob", "cat"])
            for client in [ann, bob] {
                #expect(try await client.nextText() == Notice.added("cat", room))
            }
            bob.wire.reset()
            for client in [ann, cat] {
                #expect(try await client.nextText() == Notice.removed("bob", room))
            }
            #expect(try await cluster.nodes[0].trigger("e", "1", on: plain).status == 200)
            #expect(try await client.nextText() == eventText("e", plain, data: "1"))
        }
    }

    // MARK: - Servers that fail

    /// How a replica takes the place of its primary.
    enum Failover: CaseIterable {
        /// An operator has both change places.
        case orderly
        /// The primary has died.
        case killed
    }

    @Test(
        "A replica takes the place of a primary: only the channels there are told",
        arguments: Failover.allCases
    )
    func failover(_ failover: Failover) async throws {
        try await run {
            $0.cluster.redis.patience = failover == .killed ? 0 : 20
        } _: { cluster, servers in
            let replica = try await servers[0].replica(knownTo: servers)
            let (affected, kept) = (try channel(in: 0), try channel(in: 7))
            var clients: [TrackingWire] = []
            for node in cluster.nodes { clients.append(try await TrackingWire(node, affected)) }
            let other = try await TrackingWire(cluster.nodes[0], kept)
            #expect(try await cluster.nodes[0].trigger("e", "1", on: affected).status == 200)
            for client in clients { #expect(try await client.next() == "1") }
            var command = ["CLUSTER", "FAILOVER"]
            if failover == .killed {
                servers[0].redis.stop()
                try await eventually {
                    try await cluster.nodes[0].trigger("e", "0", on: affected).status == 503
                }
                #expect(try await cluster.nodes[0].trigger("e", "0", on: kept).status == 200)
                #expect(try await other.next() == "0")
                command.append("TAKEOVER")
            }
            let reply = try replica.redis.command(command)
            try #require(reply == "+OK", "\(reply)")
            // The primary did not wait for its replica's acknowledgements.
            for client in clients {
                let start = try await client.restart()
                #expect(start.continuity == .gap(RecoveryGap(.unknownStream)))
            }
            #expect(try await cluster.nodes[1].trigger("e", "2", on: affected).status == 200)
            for client in clients {
                let text = try await client.client.nextText()
                #expect(text.contains(#""data":"2","serial":1}"#), "\(text)")
            }
            #expect(try await cluster.nodes[1].trigger("e", "1", on: kept).status == 200)
            #expect(try await other.next() == "1")
            withExtendedLifetime(replica) {}
        }
    }

    // MARK: - Refusals

    @Test(
        "A node does not start without all slots, and says what is missing",
        arguments: [true, false]
    )
    func uncovered(needsAllSlots: Bool) async throws {
        let server = try RedisClusterServer(needsAllSlots: needsAllSlots)
        try server.add(slots: 0...8_191)
        try await server.wait(for: "cluster_state:\(needsAllSlots ? "fail" : "ok")")
        let reason = try await refusal { $0.urls = [server.address] }
        #expect(reason.contains(server.address) && reason.contains("CLUSTERDOWN"), "\(reason)")
        let part = needsAllSlots ? "8192 of 16384 slots" : "the slots of 4 of 8 partitions"
        #expect(reason.contains(part), "\(reason)")
    }

    @Test(
        "A node does not start with servers that are run otherwise than its configuration says",
        arguments: [
            (ClusterConfiguration.Redis.Mode.single, true, "cluster.redis.mode is single: set it"),
            (.cluster, false, "it is not a server of a Redis Cluster (cluster-enabled no)"),
        ]
    )
    func mode(
        mode: ClusterConfiguration.Redis.Mode,
        isRedisCluster: Bool,
        expected: String
    ) async throws {
        let port = freePort()
        let redis = try RedisProcess([
            "--port", "\(port)", "--bind", "127.0.0.1", "--cluster-enabled",
            isRedisCluster ? "yes" : "no", "--cluster-port", "\(freePort())",
        ])
        let reason = try await refusal {
            ($0.urls, $0.mode) = (["redis://127.0.0.1:\(port)"], mode)
        }
        #expect(reason.contains(expected), "\(reason)")
        withExtendedLifetime(redis) {}
    }

    /// Why a node does not start.
    private func refusal(
        _ change: @escaping (inout ClusterConfiguration.Redis) -> Void
    ) async throws -> String {
        let error = await #expect(throws: StartError.self) {
            try await TestBroker.run(loops: 2) { configuration in
                configuration.cluster.engine = .redis
                configuration.cluster.partitions = 8
                change(&configuration.cluster.redis)
            } _: { _ in
            }
        }
        return error?.description ?? ""
    }
}

/// Publishes one event after the other, each of which has to be accepted.
private final class Publisher: Sendable {
    private let isStopping = Atomic(false)
    private let name: String
    private let channel: String
    private let port: UInt16
    private let count = Mutex<Task<Int, any Error>?>(nil)

    init(_ name: String, on channel: String, at port: UInt16) {
        (self.name, self.channel, self.port) = (name, channel, port)
        count.withLock { $0 = Task { try await self.run() } }
    }

    /// Publishes `NAME 0`, `NAME 1` and so on, and returns their number.
    private func run() async throws -> Int {
        var count = 0
        while !isStopping.load(ordering: .relaxed) {
            let body = #"{"name":"e","channels":["\#(channel)"],"data":"\#(name) \#(count)"}"#
            let answer = try await Wire(port: port)
                .ask(SignedRequest(path: "/apps/1/events", body: body))
            #expect(answer.status == 200, "\(answer.body)")
            count += 1
        }
        return count
    }

    /// Stops behind the present event, and returns the number of all.
    func stop() async throws -> Int {
        isStopping.store(true, ordering: .relaxed)
        return try await count.withLock { $0 }?.value ?? 0
    }
}
