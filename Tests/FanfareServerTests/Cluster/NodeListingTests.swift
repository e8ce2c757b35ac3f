import Broker
import BrokerConfiguration
import TestRedis
import Testing

@testable import Cluster
@testable import FanfareServer
@testable import Shard

@Suite("Cluster: the list of its nodes", .timeLimit(.minutes(2))) struct NodeListingTests {
    private func inspector(_ cluster: TestCluster) throws -> ClusterInspector {
        var configuration = ClusterConfiguration()
        (configuration.engine, configuration.partitions) = (.redis, 8)
        configuration.redis.urls = ["redis+unix://\(cluster.redis.socket)"]
        return try ClusterInspector(configuration)
    }

    @Test("Nodes are listed with their clients, and with the same apps as those of the others")
    func serving() async throws {
        try await TestCluster.run { cluster in
            let (client, _) = try await cluster.nodes[1].connected()
            let inspector = try inspector(cluster)
            try await eventually {
                try await inspector.nodes().nodes.map { $0.report?.clientCount } == [0, 1]
            }
            let listing = try await inspector.nodes()
            #expect(listing.nodes.map(\.name) == ["node-0", "node-1"])
            #expect(listing.nodes.map(\.state) == [.serving, .serving])
            #expect(listing.nodes.map(\.storeCount) == [1, 1])
            #expect(listing.storeCount == 1)
            #expect(!listing.hasFaults)
            #expect(listing.nodes.allSatisfy { $0.report?.version == BrokerVersion.current })
            #expect(listing.nodes.allSatisfy { (0..<5_000).contains($0.heartbeatAge) })
            withExtendedLifetime(client) {}
        }
    }

    @Test("A node with other apps is found by the fingerprint")
    func otherApps() async throws {
        try await TestCluster.run(nodes: 3) { configuration in
            guard configuration.cluster.node == "node-1" else { return }
            configuration.apps[0].features.subscriptionCount.toggle()
        } _: { cluster in
            let listing = try await inspector(cluster).nodes()
            #expect(listing.nodes.map { listing.hasOtherApps($0) } == [false, true, false])
            #expect(listing.hasFaults)
        }
    }

    @Test("Fingerprints differ by every value, secrets and lists included")
    func fingerprints() {
        let app = AppConfiguration.development
        var others = [app, app, app, app]
        others[0].secret += "x"
        others[1].allowedOrigins = ["https://a.test"]
        others[2].credentials = [AppConfiguration.Credential(secret: "other")]
        others[3].limits.membersMax += 1
        let prints = ([app] + others).map { AppRegistry.fingerprint(of: [$0]) }
        #expect(Set(prints).count == prints.count)
        #expect(AppRegistry.fingerprint(of: [app]) == prints[0])
        #expect(
            AppRegistry.fingerprint(of: [app, others[0]])
                == AppRegistry.fingerprint(of: [others[0], app])
        )
    }

    @Test("A node without Redis is isolated, then lost")
    func isolated() async throws {
        try await TestCluster.runRelayed {
            $0.cluster.lease = 8
        } _: { cluster, relay in
            let inspector = try inspector(cluster)
            try await relay.set(.stalled)
            var listing = try await inspector.nodes()
            try await eventually {
                listing = try await inspector.nodes()
                return listing.nodes.first?.state == .isolated
            }
            #expect(listing.hasFaults)
            #expect(listing.nodes.map(\.storeCount) == [0, 1])
            try await eventually {
                try await inspector.nodes().nodes.map(\.state) == [.lost, .serving]
            }
            let settled = try await inspector.nodes()
            #expect(!settled.hasFaults)
            try await relay.set(.open)
        }
    }

    @Test("A node that has stopped is not listed")
    func stopped() async throws {
        try await TestCluster.run { cluster in
            await cluster.nodes[0].server.stop(within: .seconds(5))
            let listing = try await inspector(cluster).nodes()
            #expect(listing.nodes.map(\.name) == ["node-1"])
        }
    }
}
