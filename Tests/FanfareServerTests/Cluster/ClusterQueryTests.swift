import Broker
import BrokerConfiguration
import Foundation
import PusherProtocol
import Testing

@testable import FanfareServer

@Suite("Cluster: queries and counts") struct ClusterQueryTests {
    private func get(
        _ node: TestBroker,
        _ path: String,
        _ parameters: [(String, String)] = []
    ) async throws -> Answer {
        let wire = try Wire(port: node.port)
        // Twenty histories are made one after the other, which takes long under a sanitizer.
        wire.patience = .seconds(90)
        return try await wire.ask(
            SignedRequest(method: "GET", path: "/apps/1" + path, parameters: parameters)
        )
    }

    /// Triggers ten events in a batch.
    private func triggerTen(_ data: String, at node: TestBroker) async throws {
        let event = #"{"name":"e","channel":"a","data":"\#(data)"}"#
        let batch = Array(repeating: event, count: 10).joined(separator: ",")
        let request = SignedRequest(
            path: "/apps/1/batch_events",
            body: #"{"batch":[\#(batch)]}"#
        )
        #expect(try await Wire(port: node.port).ask(request).status == 200)
    }

    @Test("A history by time looks at all kept messages, in either order", .timeLimit(.minutes(1)))
    func historyByTime() async throws {
        try await TestCluster.run(nodes: 1) {
            $0.apps[0].recovery.isEnabled = true
            $0.apps[0].recovery.standard.messagesMax = 5_000
            var rule = RecoveryRuleConfiguration()
            rule.settings.keep = .always
            $0.apps[0].recoveryRules = [rule]
        } _: { cluster in
            let node = cluster.nodes[0]
            for _ in 0..<210 { try await triggerTen("x", at: node) }
            // All messages of before are older.
            let time = try cluster.redis.milliseconds
            try await eventually { try cluster.redis.milliseconds > time }
            #expect(try await node.trigger("e", "last", on: "a").status == 200)
            for order in ["oldest", "newest"] {
                for (since, until, fits) in [
                    (time + 1, 99_999_999_999_999, #""serial":2101,"#),
                    (0, time - 600_000, #""messages":[]"#),
                ] {
                    let parameters = [
                        ("order", order), ("since", "\(since)"), ("until", "\(until)"),
                    ]
                    let answer = try await get(node, "/channels/a/history", parameters)
                    #expect(answer.status == 200)
                    #expect(answer.body.contains(fits), "\(answer.body)")
                }
            }
        }
    }

    @Test(
        "A history that is longer than Redis queues for a connection, and many at once",
        .timeLimit(.minutes(3))
    )
    func longHistories() async throws {
        try await TestCluster.run(nodes: 1) {
            $0.apps[0].recovery.isEnabled = true
            $0.apps[0].recovery.standard.bytesMax = 64 << 20
            var rule = RecoveryRuleConfiguration()
            rule.settings.keep = .always
            $0.apps[0].recoveryRules = [rule]
        } _: { cluster in
            let node = cluster.nodes[0]
            // A connection that has subscribed is closed above this limit.
            let (client, _) = try await node.subscribed(to: "a")
            let limit = "pubsub 17mb 17mb 0"
            try cluster.redis.command("CONFIG", "SET", "client-output-buffer-limit", limit)
            let data = String(repeating: "x", count: 60_000)
            for _ in 0..<35 {
                try await triggerTen(data, at: node)
                for _ in 0..<10 { _ = try await client.nextText() }
            }
            for (order, bound) in [("oldest", "after"), ("newest", "before")] {
                var parameters = [("order", order), ("limit", "1000")]
                var (serials, pageCount): ([Int], Int) = ([], 0)
                while pageCount == 0 || parameters.count == 3 {
                    let answer = try await get(node, "/channels/a/history", parameters)
                    #expect(answer.status == 200)
                    let page = try JSONDecoder()
                        .decode(History.self, from: Data(answer.body.utf8))
                    serials += page.serials
                    pageCount += 1
                    parameters.removeSubrange(2...)
                    if let next = page.next { parameters.append((bound, "\(next)")) }
                }
                // A page is of at most 1 MiB.
                #expect(pageCount == 21)
                #expect(serials == (order == "oldest" ? Array(1...350) : (1...350).reversed()))
            }
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        try await get(node, "/channels/a/history", [("limit", "20")]).status
                    }
                }
                for try await status in group { #expect(status == 200) }
            }
        }
    }

    @Test("Any node answers for all", arguments: [1, 2])
    func channels(loops: Int) async throws {
        try await TestCluster.run(loops: loops) {
            $0.apps[0].features.subscriptionCount = true
        } _: { cluster in
            let nodes = cluster.nodes
            var clients: [WebSocketWire] = []
            for channel in ["a", "b", "c", "ab"] {
                clients.append(try await nodes[0].subscribed(to: channel).0)
            }
            clients.append(try await nodes[1].subscribed(to: "a").0)
            clients.append(try await nodes[0].joined("presence-p", as: "ann").0)
            clients.append(try await nodes[1].joined("presence-p", as: "ann").0)
            clients.append(try await nodes[1].joined("presence-p", as: "bob").0)
            for node in nodes {
                let info = ("info", "subscription_count")
                try await eventually {
                    try await get(node, "/channels/a", [info]).body
                        == #"{"occupied":true,"subscription_count":2}"#
                }
                #expect(
                    try await get(node, "/channels/z", [info]).body
                        == #"{"occupied":false,"subscription_count":0}"#
                )
                #expect(
                    try await get(node, "/channels/presence-p", [("info", "user_count")]).body
                        == #"{"occupied":true,"user_count":2}"#
                )
                #expect(try await node.users(of: "presence-p") == ["ann", "bob"])
                #expect(
                    try await get(node, "/channels").body
                        == #"{"channels":{"a":{},"ab":{},"b":{},"c":{},"presence-p":{}}}"#
                )
                #expect(
                    try await get(node, "/channels", [("filter_by_prefix", "a"), ("limit", "1")])
                        .body == #"{"channels":{"a":{}},"next_cursor":"a"}"#
                )
                #expect(
                    try await get(
                        node,
                        "/channels",
                        [
                            ("cursor", "a"), ("filter_by_prefix", "a"),
                            ("info", "subscription_count"),
                        ]
                    )
                    .body == #"{"channels":{"ab":{"subscription_count":1}}}"#
                )
            }
            for client in clients { client.wire.reset() }
            for node in nodes {
                try await eventually {
                    try await get(node, "/channels").body == #"{"channels":{}}"#
                }
            }
        }
    }

    @Test("Subscribers are told the number of all nodes' subscriptions")
    func counts() async throws {
        try await TestCluster.run {
            $0.apps[0].features.subscriptionCount = true
        } _: { cluster in
            let (here, there) = (cluster.nodes[0], cluster.nodes[1])
            func notice(_ count: Int) -> String {
                let data = quoted(#"{"subscription_count":\#(count)}"#)
                return
                    #"{"event":"pusher_internal:subscription_count","channel":"a","data":"\#(data)"}"#
            }
            let (first, _) = try await here.subscribed(to: "a")
            let (second, _) = try await there.subscribed(to: "a")
            var text = try await first.nextText()
            if text == notice(1) { text = try await first.nextText() }
            #expect(text == notice(2))
            second.wire.reset()
            #expect(try await first.nextText() == notice(1))
        }
    }

    @Test("The history is the same on all nodes")
    func history() async throws {
        try await TestCluster.run { cluster in
            let tracking = try await TrackingWire(cluster.nodes[0], "a")
            for number in 1...3 {
                let node = cluster.nodes[number % 2]
                #expect(try await node.trigger("e", "\(number)", on: "a").status == 200)
            }
            for node in cluster.nodes {
                let all = try await get(node, "/channels/a/history").body
                #expect(all.contains(#""serial":3}"#) && all.contains(#""oldest":1"#), "\(all)")
                #expect(all.matches(of: /"data":"(\d)"/).map { String($0.1) } == ["1", "2", "3"])
                let last = try await get(
                    node,
                    "/channels/a/history",
                    [("limit", "1"), ("order", "newest")]
                ).body
                #expect(last.matches(of: /"data":"(\d)"/).map { String($0.1) } == ["3"], "\(last)")
                let middle = try await get(
                    node,
                    "/channels/a/history",
                    [("after", "1"), ("before", "3")]
                ).body
                #expect(middle.matches(of: /"data":"(\d)"/).map { String($0.1) } == ["2"])
                let state = try await get(node, "/channels/a", [("info", "position")]).body
                let stream = tracking.position.stream
                #expect(
                    state.contains(#""position":{"stream":"\#(stream)","serial":3}"#),
                    "\(state)"
                )
            }
        }
    }

    @Test("A cached event is queried, and a purge is told, on all nodes")
    func cacheAndPurge() async throws {
        try await TestCluster.run { cluster in
            let tracking = try await TrackingWire(cluster.nodes[0], "cache-a")
            _ = try await tracking.client.nextText()
            #expect(try await cluster.nodes[1].trigger("e", "1", on: "cache-a").status == 200)
            #expect(try await tracking.next() == "1")
            for node in cluster.nodes {
                let text = try await get(node, "/channels/cache-a", [("info", "cache")]).body
                // Seconds may have passed since the event.
                #expect(text.contains(/"cache":{"data":"1","ttl":1(800|7\d\d)}/), "\(text)")
            }
            let answer = try await Wire(port: cluster.nodes[1].port)
                .ask(SignedRequest(method: "DELETE", path: "/apps/1/channels/cache-a/history"))
            #expect(answer.status == 200, "\(answer.body)")
            let text = try await tracking.client.nextText()
            #expect(text.contains("unknown_stream"), "\(text)")
            let empty = try await get(cluster.nodes[0], "/channels/cache-a", [("info", "cache")])
            #expect(!empty.body.contains("\"data\""), "\(empty.body)")
        }
    }
}
