import TestRedis
import Testing

@testable import FanfareServer

@Suite("Cluster: users") struct ClusterUserTests {
    private func terminate(_ user: String, at node: TestBroker) async throws {
        let path = "/apps/1/users/\(user)/terminate_connections"
        let answer = try await node.terminate(SignedRequest(path: path, body: "{}"))
        #expect(answer.status == 200 && answer.body == "{}")
    }

    @Test("A user's connections are closed on all nodes", arguments: [1, 2])
    func terminates(loops: Int) async throws {
        try await TestCluster.run(loops: loops) { cluster in
            for terminating in cluster.nodes {
                var clients: [WebSocketWire] = []
                for node in cluster.nodes + cluster.nodes {
                    clients.append(try await node.signedIn(as: "ann").0)
                }
                let (bob, _) = try await cluster.nodes[0].signedIn(as: "bob")
                // The node is subscribed to what is published for its users.
                try await eventually {
                    try cluster.redis.command("PUBSUB", "CHANNELS") == "*2"
                        && cluster.redis.command("PUBSUB", "NUMPAT") == ":0"
                }
                try await terminate("ann", at: terminating)
                for client in clients { try await client.expectEnd(4009) }
                try await bob.expectNothing()
                try await terminate("bob", at: terminating)
                try await bob.expectEnd(4009)
                try await eventually { try cluster.redis.command("PUBSUB", "CHANNELS") == "*0" }
            }
        }
    }

    @Test("An event to a user reaches all nodes")
    func events() async throws {
        try await TestCluster.run { cluster in
            var clients: [WebSocketWire] = []
            for node in cluster.nodes {
                let (client, _) = try await node.signedIn(as: "ann")
                try client.send(
                    ##"{"event":"pusher:subscribe","data":{"channel":"#server-to-user-ann"}}"##
                )
                #expect(try await client.nextText().contains("subscription_succeeded"))
                clients.append(client)
            }
            let channel = "#server-to-user-ann"
            #expect(try await cluster.nodes[1].trigger("e", "1", on: channel).status == 200)
            for client in clients {
                #expect(try await client.nextText() == eventText("e", channel, data: "1"))
            }
        }
    }

    @Test("A node that was cut off closes the connections afterwards")
    func behindACut() async throws {
        try await TestCluster.runRelayed { cluster, relay in
            let (ann, _) = try await cluster.nodes[0].signedIn(as: "ann")
            let (bob, _) = try await cluster.nodes[0].signedIn(as: "bob")
            try await eventually { try cluster.redis.command("PUBSUB", "CHANNELS") == "*2" }
            try await relay.set(.cut)
            try await terminate("ann", at: cluster.nodes[1])
            try await relay.set(.open)
            try await ann.expectEnd(4009)
            try await bob.expectNothing()
        }
    }
}
