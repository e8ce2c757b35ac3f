import Broker
import BrokerConfiguration
import PusherProtocol
import Testing

@testable import FanfareServer

/// Several, so that some homes are on another shard than the clients.
private let channels = ["a", "b", "private-c", "private-d"]

@Suite("Cluster: events") struct ClusterEventTests {
    @Test("An event reaches the subscribers of all nodes", arguments: [1, 3], [true, false])
    func reachesAllNodes(loops: Int, isRecoverable: Bool) async throws {
        try await TestCluster.run(loops: loops) {
            $0.apps[0].recovery.isEnabled = isRecoverable
        } _: { cluster in
            for channel in channels {
                var clients: [WebSocketWire] = []
                for node in cluster.nodes + cluster.nodes {
                    clients.append(try await node.subscribed(to: channel).0)
                }
                for (number, node) in cluster.nodes.enumerated() {
                    let answer = try await node.trigger("e", "\(number)", on: channel)
                    #expect(answer.status == 200 && answer.body == "{}")
                    for client in clients {
                        let expected = eventText("e", channel, data: "\(number)")
                        #expect(try await client.nextText() == expected)
                    }
                }
            }
        }
    }

    @Test("All subscribers see one order, whichever nodes the events come from", arguments: [1, 2])
    func order(loops: Int) async throws {
        try await TestCluster.run(nodes: 3, loops: loops) { cluster in
            var clients: [WebSocketWire] = []
            for node in cluster.nodes { clients.append(try await node.subscribed(to: "a").0) }
            let count = 100
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (number, node) in cluster.nodes.enumerated() {
                    group.addTask {
                        for index in 0..<count {
                            let answer = try await node.trigger("e", "\(number) \(index)", on: "a")
                            #expect(answer.status == 200)
                        }
                    }
                }
                try await group.waitForAll()
            }
            var seen: [[String]] = []
            for client in clients {
                var texts: [String] = []
                for _ in 0..<count * cluster.nodes.count {
                    texts.append(try await client.nextText())
                }
                seen.append(texts)
            }
            #expect(seen[0] == seen[1] && seen[1] == seen[2])
            for number in cluster.nodes.indices {
                // Each publisher has waited for the answer to the event before.
                let own = seen[0].filter { $0.contains("\"data\":\"\(number) ") }
                #expect(own == (0..<count).map { eventText("e", "a", data: "\(number) \($0)") })
            }
        }
    }

    @Test("An event leaves out one connection of any node, and no other", arguments: [1, 2])
    func exclusions(loops: Int) async throws {
        try await TestCluster.run(loops: loops) { cluster in
            var clients: [(client: WebSocketWire, socketID: String)] = []
            for node in cluster.nodes {
                clients.append(try await node.subscribed(to: "a"))
                clients.append(try await node.subscribed(to: "a"))
            }
            #expect(Set(clients.map(\.socketID)).count == 4)
            for (number, excluded) in clients.enumerated() {
                for node in cluster.nodes {
                    #expect(
                        try await node.trigger("e", "\(number)", on: "a", except: excluded.socketID)
                            .status == 200
                    )
                }
            }
            for (number, client) in clients.enumerated() {
                for other in clients.indices where other != number {
                    for _ in cluster.nodes {
                        let text = try await client.client.nextText()
                        #expect(text == eventText("e", "a", data: "\(other)"))
                    }
                }
                try await client.client.expectNothing()
            }
        }
    }

    @Test("A client's event reaches the others on all nodes", arguments: [1, 2])
    func clientEvents(loops: Int) async throws {
        try await TestCluster.run(loops: loops) { cluster in
            for channel in ["private-a", "private-b"] {
                var clients: [WebSocketWire] = []
                for node in cluster.nodes + cluster.nodes {
                    clients.append(try await node.subscribed(to: channel).0)
                }
                for sender in clients.indices {
                    try clients[sender].publish("client-e", channel, json: "\"\(sender)\"")
                    for receiver in clients.indices where receiver != sender {
                        let text = try await clients[receiver].nextText()
                        #expect(text == eventText("client-e", channel, data: "\(sender)"))
                    }
                }
                for client in clients { try await client.expectNothing() }
            }
        }
    }

    @Test("A repeated event is published once, whichever nodes it is sent to")
    func idempotency() async throws {
        try await TestCluster.run { cluster in
            let (client, _) = try await cluster.nodes[0].subscribed(to: "a")
            func send(_ data: String, to node: TestBroker) async throws -> Answer {
                let body =
                    #"{"name":"e","channels":["a","b"],"data":"\#(data)","idempotency_key":"k"}"#
                return try await Wire(port: node.port)
                    .ask(SignedRequest(path: "/apps/1/events", body: body))
            }
            #expect(try await send("1", to: cluster.nodes[0]).body == "{}")
            #expect(try await send("1", to: cluster.nodes[1]).body == #"{"repeated":true}"#)
            #expect(try await send("2", to: cluster.nodes[1]).status == 422)
            #expect(try await client.nextText() == eventText("e", "a", data: "1"))
            try await client.expectNothing()
        }
    }

    @Test("A subscriber of a cache channel gets the last event, whichever node has received it")
    func cacheChannels() async throws {
        try await TestCluster.run { cluster in
            let (first, _) = try await cluster.nodes[0].subscribed(to: "cache-a")
            let miss = try await first.nextText()
            #expect(miss.contains("pusher:cache_miss"), "\(miss)")
            for (number, node) in cluster.nodes.enumerated() {
                #expect(try await node.trigger("e", "\(number)", on: "cache-a").status == 200)
                for node in cluster.nodes {
                    let (client, _) = try await node.subscribed(to: "cache-a")
                    #expect(
                        try await client.nextText() == eventText("e", "cache-a", data: "\(number)")
                    )
                }
            }
        }
    }

    @Test("Subscribing and leaving again and again loses no event")
    func comingAndGoing() async throws {
        try await TestCluster.run { cluster in
            let (client, _) = try await cluster.nodes[0].connected()
            for round in 0..<50 {
                try await client.subscribe(to: ["a"])
                #expect(try await cluster.nodes[1].trigger("e", "\(round)", on: "a").status == 200)
                #expect(try await client.nextText() == eventText("e", "a", data: "\(round)"))
                try client.send(#"{"event":"pusher:unsubscribe","data":{"channel":"a"}}"#)
            }
            // At once: the answer of Redis finds a subscription of another number, or none.
            for _ in 0..<50 {
                try client.send(#"{"event":"pusher:subscribe","data":{"channel":"b"}}"#)
                try client.send(#"{"event":"pusher:unsubscribe","data":{"channel":"b"}}"#)
            }
            try await client.subscribe(to: ["c"])
            #expect(try await cluster.nodes[1].trigger("e", "1", on: "b").status == 200)
            #expect(try await cluster.nodes[1].trigger("e", "2", on: "c").status == 200)
            #expect(try await client.nextText() == eventText("e", "c", data: "2"))
        }
    }
}
