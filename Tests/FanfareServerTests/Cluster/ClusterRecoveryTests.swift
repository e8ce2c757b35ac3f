import Broker
import BrokerConfiguration
import PusherProtocol
import Testing

@testable import FanfareServer

@Suite("Cluster: recovery") struct ClusterRecoveryTests {
    private func trigger(
        _ node: TestBroker,
        _ channel: String,
        _ data: ClosedRange<Int>
    ) async throws {
        for number in data {
            #expect(try await node.trigger("e", "\(number)", on: channel).status == 200)
        }
    }

    private func texts(_ range: ClosedRange<Int>) -> [String?] { range.map { "\($0)" } }

    @Test("What was missed follows the acknowledgement on any node", arguments: [1, 2])
    func resumes(loops: Int) async throws {
        try await TestCluster.run(loops: loops) { cluster in
            let (here, there) = (cluster.nodes[0], cluster.nodes[1])
            for channel in ["a", "b", "private-c"] {
                let first = try await TrackingWire(here, channel)
                #expect(first.start.continuity == .began && first.serial == 0)
                try await trigger(there, channel, 1...2)
                #expect(try await first.next(2) == texts(1...2))
                first.cut()
                try await trigger(here, channel, 3...5)
                // The other node has none of it in memory.
                let second = try await TrackingWire(there, channel, behind: first)
                #expect(second.start.continuity == .recovered(replay: 3))
                #expect(second.position == first.position)
                try await trigger(here, channel, 6...6)
                #expect(try await second.next(4) == texts(3...6))
                // Nor has the first one all of it, where there is no subscriber any more.
                second.cut()
                try await trigger(there, channel, 7...8)
                let third = try await TrackingWire(here, channel, behind: second)
                #expect(third.start.continuity == .recovered(replay: 2))
                #expect(try await third.next(2) == texts(7...8))
                let fourth = try await TrackingWire(there, channel, position: third.position)
                #expect(fourth.start.continuity == .recovered(replay: 0))
                try await fourth.client.expectNothing()
            }
        }
    }

    @Test(
        "A long replay is read in parts; above the limit nothing of it is sent",
        arguments: [true, false]
    )
    func longReplays(isAllowed: Bool) async throws {
        let count = 700
        try await TestCluster.run {
            if !isAllowed { $0.apps[0].recovery.replayBytesMax = 20_000 }
        } _: { cluster in
            let first = try await TrackingWire(cluster.nodes[0], "a")
            first.cut()
            try await trigger(cluster.nodes[0], "a", 1...count)
            let second = try await TrackingWire(cluster.nodes[1], "a", behind: first)
            guard isAllowed else {
                guard case .gap(let gap) = second.start.continuity else {
                    Issue.record("\(second.start)")
                    return
                }
                #expect(gap.missed == UInt64(count))
                return
            }
            #expect(second.start.continuity == .recovered(replay: count))
            #expect(try await second.next(count) == texts(1...count))
        }
    }

    @Test("What is no longer kept is told, and what was never there")
    func gaps() async throws {
        try await TestCluster.run {
            // Redis removes whole blocks of messages.
            $0.apps[0].recovery.standard.messagesMax = 10
        } _: { cluster in
            let (here, there) = (cluster.nodes[0], cluster.nodes[1])
            let first = try await TrackingWire(here, "a")
            let start = first.position
            try await trigger(here, "a", 1...300)
            first.cut()
            let second = try await TrackingWire(there, "a", behind: first)
            #expect(second.start.continuity == .gap(RecoveryGap(.truncated, missed: 300)))
            #expect(second.serial == 300)
            let ahead = ChannelPosition(stream: start.stream, serial: 301)
            let third = try await TrackingWire(there, "a", position: ahead)
            #expect(third.start.continuity == .gap(RecoveryGap(.ahead)))
            let stream = try #require(StreamID("123"))
            let other = ChannelPosition(stream: stream, serial: 1)
            let fourth = try await TrackingWire(here, "a", position: other)
            #expect(fourth.start.continuity == .gap(RecoveryGap(.unknownStream)))
        }
    }

    @Test("What leaves a client out leaves no hole, on any node")
    func exclusions() async throws {
        try await TestCluster.run { cluster in
            let (here, there) = (cluster.nodes[0], cluster.nodes[1])
            let first = try await TrackingWire(here, "private-a")
            func trigger(_ data: String) async throws {
                let answer = try await there.trigger(
                    "e",
                    data,
                    on: "private-a",
                    except: first.socketID
                )
                #expect(answer.status == 200)
            }
            try await trigger("1")
            #expect(try await first.next() == nil)
            first.cut()
            try await trigger("2")
            let second = try await TrackingWire(there, "private-a", behind: first)
            #expect(try await second.next() == nil)
            // Its own event, for whose number it waits.
            try second.client.publish("client-e", "private-a", json: "3")
            #expect(try await second.next() == nil)
        }
    }

    @Test("A publisher gets the position that the event has on all nodes")
    func positions() async throws {
        try await TestCluster.run { cluster in
            for (index, node) in (cluster.nodes + cluster.nodes).enumerated() {
                let body = #"{"name":"e","channels":["a"],"data":"d","info":"position"}"#
                let answer = try await Wire(port: node.port)
                    .ask(SignedRequest(path: "/apps/1/events", body: body))
                #expect(answer.body.contains(#""serial":\#(index + 1)}"#), "\(answer.body)")
            }
            let client = try await TrackingWire(cluster.nodes[1], "a")
            #expect(client.serial == 4)
        }
    }

    @Test("Earlier messages open a channel on every node")
    func openings() async throws {
        try await TestCluster.run {
            var rule = RecoveryRuleConfiguration()
            (rule.settings.keep, rule.opening, rule.openingCount) = (.always, .replay, 2)
            $0.apps[0].recoveryRules = [rule]
        } _: { cluster in
            try await trigger(cluster.nodes[0], "a", 1...3)
            for node in cluster.nodes {
                let (client, _) = try await node.subscribed(to: "a")
                for number in 2...3 {
                    let text = try await client.nextText()
                    #expect(text.contains(#""data":"\#(number)","serial":\#(number)}"#), "\(text)")
                }
            }
        }
    }
}
