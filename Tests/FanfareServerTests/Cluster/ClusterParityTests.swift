import Broker
import BrokerConfiguration
import Testing

@testable import FanfareServer

@Suite("Cluster: the same answers as of a broker alone") struct ClusterParityTests {
    private static let channels = [
        "a", "presence-p", "cache-c", "cache-e", "t", "q", "z", "bad name",
    ]

    /// All queries, of all kinds of channels.
    private static var requests: [SignedRequest] {
        func get(_ path: String, _ parameters: (String, String)...) -> SignedRequest {
            SignedRequest(method: "GET", path: "/apps/1/channels" + path, parameters: parameters)
        }
        var requests = [
            get(""), get("", ("filter_by_prefix", "presence-"), ("info", "user_count")),
            get("", ("info", "subscription_count")), get("", ("info", "cache")),
            get("", ("limit", "0")), get("", ("limit", "2")), get("", ("info", "nonsense")),
        ]
        for channel in channels.map({ "/" + $0.replacing(" ", with: "%20") }) {
            requests.append(get(channel))
            for info in [
                "user_count", "subscription_count", "cache", "position",
                "subscription_count,cache,position", "nonsense",
            ] {
                requests.append(get(channel, ("info", info)))
            }
            requests.append(get(channel + "/users"))
            requests.append(get(channel + "/history"))
            requests.append(get(channel + "/history", ("limit", "1"), ("order", "newest")))
            requests.append(get(channel + "/history", ("after", "1")))
            requests.append(get(channel + "/history", ("stream", "other")))
            requests.append(get(channel + "/history", ("limit", "0")))
            requests.append(get(channel + "/messages/1/delivery"))
            requests.append(get(channel + "/messages/99/delivery"))
            requests.append(
                SignedRequest(method: "DELETE", path: "/apps/1/channels\(channel)/history")
            )
        }
        return requests
    }

    /// The answers to all requests, without what differs from run to run.
    private func answers(of broker: TestBroker, at asked: TestBroker) async throws -> [String] {
        var clients: [WebSocketWire] = []
        for channel in ["a", "cache-e"] {
            clients.append(try await broker.subscribed(to: channel).0)
        }
        clients.append(try await broker.joined("presence-p", as: "ann").0)
        if broker.server.configuration.apps[0].recovery.isEnabled {
            clients.append(try await TrackingWire(broker, "t").client)
        } else {
            clients.append(try await broker.subscribed(to: "t").0)
        }
        for (channel, data) in [("cache-c", "1"), ("t", "2"), ("t", "3"), ("q", "4")] {
            #expect(try await broker.trigger("e", data, on: channel).status == 200)
        }
        var texts: [String] = []
        for request in Self.requests {
            let answer = try await Wire(port: asked.port).ask(request)
            texts.append(
                "\(request.method) \(request.path) \(request.parameters): "
                    + "\(answer.status) \(answer.comparableBody)"
            )
        }
        withExtendedLifetime(clients) {}
        return texts
    }

    @Test("Every query", arguments: [true, false])
    func queries(recovers: Bool) async throws {
        func change(_ configuration: inout Configuration) {
            configuration.apps[0].recovery.isEnabled = recovers
            configuration.apps[0].features.subscriptionCount = true
        }
        let alone = try await TestBroker.run(change) { try await answers(of: $0, at: $0) }
        try await TestCluster.run(nodes: 1, change) { cluster in
            let node = cluster.nodes[0]
            let shared = try await answers(of: node, at: node)
            for (expected, answer) in zip(alone, shared) { #expect(answer == expected) }
        }
        // Whichever node is asked; where a message was delivered, only the node of its subscribers knows.
        try await TestCluster.run(nodes: 2, change) { cluster in
            let shared = try await answers(of: cluster.nodes[0], at: cluster.nodes[1])
            for (expected, answer) in zip(alone, shared) where !expected.contains("/delivery") {
                #expect(answer == expected)
            }
        }
    }
}

extension Answer {
    /// The body without the stream IDs and times in which brokers differ.
    var comparableBody: String {
        body
            .replacing(/"stream":"[^"]+"/, with: #""stream":"S""#)
            .replacing(/"(time|published|from|until|ttl)":"?[\d.]+"?/) { "\"\($0.output.1)\":T" }
            .replacing(/stream is [^,]+,/, with: "stream is S,")
    }
}
