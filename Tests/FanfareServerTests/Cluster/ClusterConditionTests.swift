import Testing

@testable import FanfareServer

@Suite("Cluster: triggers on the condition of a position") struct ClusterConditionTests {
    @Test("An event is published at this position alone, on whichever node", arguments: [1, 2])
    func conditions(loops: Int) async throws {
        try await TestCluster.run(loops: loops) { cluster in
            for (channel, (node, other)) in [
                ("a", (cluster.nodes[0], cluster.nodes[1])),
                ("cache-b", (cluster.nodes[1], cluster.nodes[0])),
            ] {
                let start = try await node.position(channel)
                #expect(start.serial == 0)
                #expect(try await other.position(channel) == start)
                let condition = #""if_position":\#(start.json)"#
                #expect(try await other.trigger(channel, "1", condition).body == "{}")
                let last = WirePosition(stream: start.stream, serial: 1)
                for stale in [
                    start.json, #"{"stream":"other","serial":1}"#,
                    #"{"stream":"\#(start.stream)","serial":2}"#,
                ] {
                    let refusal = try await node.trigger(channel, "2", #""if_position":\#(stale)"#)
                    #expect(refusal.status == 412)
                    #expect(refusal.head.contains(last.header), "\(refusal.head)")
                    #expect(refusal.body.contains("\(last.stream) 1"), "\(refusal.body)")
                }
                let next = #""if_position":\#(last.json)"#
                #expect(try await node.trigger(channel, "3", next).body == "{}")
                #expect(try await other.position(channel).serial == 2)
            }
        }
    }

    @Test("A refused event leaves no key behind, and a published one is repeated")
    func keys() async throws {
        try await TestCluster.run { cluster in
            let (node, other) = (cluster.nodes[0], cluster.nodes[1])
            let start = try await node.position("a")
            let key = #","idempotency_key":"k""#
            let stale = #""if_position":{"stream":"other","serial":0}"# + key
            #expect(try await node.trigger("a", stale).status == 412)
            let condition = #""if_position":\#(start.json)"# + key
            #expect(try await node.trigger("a", condition).body == "{}")
            #expect(try await other.trigger("a", condition).body == #"{"repeated":true}"#)
            #expect(try await other.position("a").serial == 1)
        }
    }

    @Test("Of concurrent writers on two nodes exactly one wins each position", arguments: [1, 2])
    func races(loops: Int) async throws {
        try await TestCluster.run(loops: loops) { cluster in
            for round in 0..<20 {
                let start = try await cluster.nodes[round % 2].position("a")
                #expect(start.serial == round)
                let condition = #""if_position":\#(start.json)"#
                let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                    for writer in 0..<4 {
                        let node = cluster.nodes[writer % 2]
                        group.addTask {
                            try await node.trigger("a", "\(writer)", condition).status
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(statuses.sorted() == [200, 412, 412, 412])
            }
        }
    }
}
