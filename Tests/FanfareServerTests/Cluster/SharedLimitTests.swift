import Broker
import BrokerConfiguration
import PusherProtocol
import Synchronization
import TestRedis
import Testing

@testable import FanfareServer
@testable import Shard

@Suite("Cluster: limits of apps") struct SharedLimitTests {
    @Test("Connections count on all nodes; those of a node that stops are free again")
    func connections() async throws {
        try await TestCluster.run {
            $0.apps[0].limits.connectionsMax = 3
        } _: { cluster in
            let (here, there) = (cluster.nodes[0], cluster.nodes[1])
            var clients: [WebSocketWire] = []
            for _ in 0..<3 { clients.append(try await here.connected().0) }
            // Each node knows within two seconds what the other one uses.
            try await waitForAnswer(#""code":4004"#, of: there)
            try await there.expectRefusal(4004)
            try await here.expectRefusal(4004)
            clients[0].wire.reset()
            try await waitForAnswer("connection_established", of: there)
            await here.server.stop()
            var others: [WebSocketWire] = []
            try await eventually {
                let client = try await WebSocketWire(
                    port: there.port,
                    target: "/app/app-key?protocol=7"
                )
                guard try await client.nextText().contains("connection_established") else {
                    client.wire.reset()
                    return false
                }
                others.append(client)
                return others.count == 3
            }
            try await there.expectRefusal(4004)
            _ = (clients, others)
        }
    }

    /// Connects again and again, each time to a node without clients, until it is answered like this.
    ///
    /// Among the socket IDs of hundreds of greetings, one has any four digits.
    private func waitForAnswer(_ text: String, of node: TestBroker) async throws {
        try await eventually {
            guard await node.server.connectionCount == 0 else { return false }
            let client = try await WebSocketWire(
                port: node.port,
                target: "/app/app-key?protocol=7"
            )
            defer { client.wire.reset() }
            return try await client.nextText().contains(text)
        }
        try await eventually { await node.server.connectionCount == 0 }
    }

    @Test("A rate is divided by the demand on each node")
    func rates() async throws {
        try await TestCluster.run {
            $0.apps[0].limits.requestRates.triggers = Rate(perSecond: 1_000)
        } _: { cluster in
            let allowances = try cluster.nodes.map { node in
                try #require(node.server.registry.withLock { $0.apps[AppID("1")]?.requests })
            }
            func ask(_ index: Int, _ count: Int) {
                for _ in 0..<count { _ = try? allowances[index].take(.trigger, at: 0) }
            }
            func waitForShares(_ first: Int, _ second: Int) async throws {
                try await eventually { allowances.map { $0.shares[1] } == [first, second] }
            }
            try await waitForShares(500, 500)
            ask(0, 300)
            try await waitForShares(1_000, 250)
            ask(0, 300)
            ask(1, 600)
            // The first requests are a part of the demand for five seconds.
            try await eventually {
                allowances[0].shares[1] < 1_000 && allowances[1].shares[1] > 250
            }
            try await waitForShares(500, 500)
        }
    }
}
