import Broker
import BrokerConfiguration
import PusherProtocol
import Testing

@testable import FanfareServer

@Suite("Queries at their edges: the same answers from memory, the file and a cluster")
struct QueryParityTests {
    /// The answers to all requests, without what differs from run to run.
    private func answers(of keeping: Keeping) async throws -> [String] {
        var texts: [String] = []
        try await keeping.run {
            $0.apps[0].features.subscriptionCount = true
            $0.apps[0].features.clientEvents = true
        } first: { broker in
            try await broker.publish(1...10, on: "a")
        } _: { broker in
            try await broker.publish(11...12, on: "a")
            try await broker.publish(1...1, on: "cache-a")
            let clients = [
                try await broker.subscribed(to: "a").0, try await broker.subscribed(to: "a").0,
                try await broker.subscribed(to: "cache-e").0,
                try await broker.subscribed(to: "private-a").0,
                try await broker.joined("presence-a", as: "ann").0,
                try await broker.joined("presence-a", as: "ann").0,
                try await broker.joined("presence-a", as: "bob").0,
            ]
            // Redis counts the later ones of a channel within a moment.
            for (channel, count) in [("a", 2), ("presence-a", 3)] {
                let request = SignedRequest(
                    method: "GET",
                    path: "/apps/1/channels/\(channel)",
                    parameters: [("info", "subscription_count")]
                )
                try await eventually {
                    try await Wire(port: broker.port).ask(request).body
                        .contains(#""subscription_count":\#(count)"#)
                }
            }
            for request in ParityRequests.all {
                let answer = try await Wire(port: broker.port).ask(request)
                let body = answer.comparableBody
                    .replacing(/last position is \S+/, with: "last position is S")
                    .replacing(/"id":"[^"]+"/, with: #""id":"I""#)
                let fields = answer.head.split(separator: "\r\n").dropFirst()
                    .filter { !$0.contains(/^(Date|Content-Length|Fanfare-Position):/) }
                texts.append(
                    "\(request.method) \(request.path) \(request.parameters) \(request.body): "
                        + "\(answer.status) \(body) \(fields)"
                )
            }
            withExtendedLifetime(clients) {}
        }
        return texts
    }

    @Test("Every edge of every parameter of every query")
    func queries() async throws {
        let memory = try await answers(of: .memory)
        for keeping in [Keeping.file, .cluster] {
            let others = try await answers(of: keeping)
            #expect(others.count == memory.count)
            for (expected, answer) in zip(memory, others) {
                #expect(answer == expected, "\(keeping)")
            }
        }
    }

    @Test("Messages that are too old are no longer kept", arguments: Keeping.allCases)
    func ages(keeping: Keeping) async throws {
        try await keeping.run {
            $0.apps[0].recoveryRules[0].ageMax = 1
        } first: { broker in
            try await broker.publish(1...20, on: "a")
        } _: { broker in
            let stream = try await TrackingWire(broker, "a").position.stream
            try await eventually {
                try await broker.history("a").body.contains(#""oldest":21,"messages":[]"#)
            }
            let answer = try await broker.history("a", [("after", "0")])
            #expect(answer.body.contains(#""truncated":true"#), "\(answer.body)")
            let behind = try await TrackingWire(
                broker,
                "a",
                position: ChannelPosition(stream: stream, serial: 1)
            )
            #expect(behind.start.continuity == .gap(RecoveryGap(.truncated, missed: 19)))
            // A cluster has the former ones still, and finds the new one among them.
            var last = 20
            try await eventually {
                guard try await broker.history("a").body.contains(#""messages":[]"#) else {
                    return false
                }
                last += 1
                try await broker.publish(last...last, on: "a")
                let body = try await broker.history("a").body
                return body.contains(#""oldest":\#(last),"messages":[{"serial":\#(last),"#)
            }
        }
    }
}

/// All requests of backends, with each parameter at its edges.
///
/// `a` has twelve messages and two subscribers, `cache-a` an event, `cache-e` none, and `presence-a` the members ann and bob.
private enum ParityRequests {
    static var all: [SignedRequest] {
        lists + channels + users + histories + deliveries + publications + terminations + traces
            + probes + purges
    }

    private static let numbers = EdgeNumber.all + ["", "+1", "01", "x", "9007199254740993", "1001"]
    /// Kinds of channels, percent-encoded.
    private static let names = [
        "a", "vacant", "cache-a", "cache-e", "private-a", "presence-a", "presence-vacant",
        "private-encrypted-a", "%23server-to-user-ann", "no%20name", "A", "%C3%A9", "%FF",
        String(repeating: "n", count: 164), String(repeating: "n", count: 165),
    ]
    private static let infos = [
        "", "user_count", "subscription_count", "cache", "position", "nonsense", ",",
        "user_count,subscription_count", "subscription_count,cache,position", "USER_COUNT",
        "position,position", " position",
    ]

    private static func get(
        _ path: String,
        _ parameters: [(String, String)] = []
    ) -> SignedRequest {
        SignedRequest(method: "GET", path: "/apps/1" + path, parameters: parameters)
    }

    private static func post(_ path: String, _ body: String) -> SignedRequest {
        SignedRequest(method: "POST", path: "/apps/1" + path, body: body)
    }

    private static var lists: [SignedRequest] {
        var queries: [[(String, String)]] = [[]]
        let prefixes = [
            "", "a", "presence-", "private-", "cache-", "b", "A", "a%",
            String(repeating: "n", count: 165),
        ]
        for prefix in prefixes { queries.append([("filter_by_prefix", prefix)]) }
        for info in infos {
            queries.append([("info", info)])
            queries.append([("filter_by_prefix", "presence-"), ("info", info)])
        }
        for number in numbers { queries.append([("limit", number)]) }
        for cursor in ["", "a", "b", "private-a", "z", "~", String(repeating: "n", count: 165)] {
            queries.append([("cursor", cursor), ("limit", "2")])
        }
        return queries.map { get("/channels", $0) }
    }

    private static var channels: [SignedRequest] {
        names.flatMap { name in
            [get("/channels/\(name)")]
                + infos.map { get("/channels/\(name)", [("info", $0)]) }
        }
    }

    private static var users: [SignedRequest] { names.map { get("/channels/\($0)/users") } }

    /// Queries of a channel with twelve messages.
    private static var histories: [SignedRequest] {
        let serials = ["0", "1", "2", "11", "12", "13", "9007199254740991"]
        let times = ["0", "1", "9007199254740991"]
        var queries: [[(String, String)]] = [[]]
        for order in ["oldest", "newest"] {
            for limit in ["1", "2", "11", "12", "13", "1000"] {
                queries.append([("limit", limit), ("order", order)])
            }
            for serial in serials {
                queries.append([("after", serial), ("order", order)])
                queries.append([("before", serial), ("order", order)])
                for other in serials {
                    queries.append([("after", serial), ("before", other), ("order", order)])
                }
            }
            for time in times {
                queries.append([("order", order), ("since", time)])
                queries.append([("order", order), ("until", time)])
                for other in times {
                    queries.append([("order", order), ("since", time), ("until", other)])
                }
            }
        }
        for name in ["after", "before", "since", "until", "limit", "order", "stream"] {
            for number in numbers { queries.append([(name, number)]) }
        }
        return queries.map { get("/channels/a/history", $0) }
            + names.map { get("/channels/\($0)/history") }
    }

    private static var deliveries: [SignedRequest] {
        (numbers + ["12", "13"]).filter { !$0.isEmpty }.map {
            get("/channels/a/messages/\($0)/delivery")
        }
            + names.map { get("/channels/\($0)/messages/1/delivery") }
            + ["1.1", "x", "", "18446744073709551616.1"].map {
                get("/channels/a/messages/1/delivery", [("socket_id", $0)])
            }
            + ["ann", "", "no name"].map {
                get("/channels/a/messages/1/delivery", [("user_id", $0)])
            }
            + [
                get(
                    "/channels/a/messages/1/delivery",
                    [("socket_id", "1.1"), ("user_id", "ann")]
                )
            ]
    }

    /// What they answer of the channels, each in the state that the ones before have left.
    private static var publications: [SignedRequest] {
        var bodies: [String] = []
        for channel in ["p", "presence-a", "cache-p", "private-encrypted-a", "no name"] {
            for info in infos {
                bodies.append(#"{"name":"e","data":"1","channel":"\#(channel)","info":"\#(info)"}"#)
            }
        }
        for number in numbers.filter({ !$0.isEmpty }) {
            bodies.append(#"{"name":"e","data":"1","channel":"p","socket_id":"\#(number)"}"#)
            bodies.append(#"{"name":"e","data":"1","channel":"p","idempotency_key":"\#(number)"}"#)
            bodies.append(
                #"{"name":"e","data":"1","channel":"p","if_position":{"stream":"s","serial":\#(number)}}"#
            )
            bodies.append(#"{"name":"e","data":\#(number),"channel":"p"}"#)
        }
        for member in [
            #""if_position":null"#, #""if_position":{}"#, #""ephemeral":true"#,
            #""idempotency_key":"k""#, #""idempotency_key":"k","info":"position""#,
            #""idempotency_key":"k","socket_id":"1.1""#,
        ] {
            bodies.append(#"{"name":"e","data":"1","channel":"q","info":"position",\#(member)}"#)
        }
        bodies.append(#"{"name":"e","data":"1","channels":["p","q","p"],"info":"position"}"#)
        bodies.append(#"{"name":"e","data":"1","channels":[]}"#)
        return bodies.map { post("/events", $0) }
            + infos.map {
                post(
                    "/batch_events",
                    #"{"batch":[{"name":"e","data":"1","channel":"p","info":"\#($0)"},"#
                        + #"{"name":"e","data":"1","channel":"presence-a","info":"\#($0)"}]}"#
                )
            } + [post("/batch_events", #"{"batch":[]}"#)]
    }

    private static var terminations: [SignedRequest] {
        ["nobody", "ann", "no%20name", "%FF", String(repeating: "n", count: 165)].map {
            post("/users/\($0)/terminate_connections", "{}")
        }
    }

    private static var traces: [SignedRequest] {
        var requests = [get("/traces/none")]
        for (name, value) in [
            ("socket_id", "x"), ("socket_id", "1.1"), ("user_id", "no name"), ("channel", "a"),
        ] {
            var request = post("/traces", "")
            request.parameters = [(name, value)]
            requests.append(request)
        }
        return requests
    }

    private static var probes: [SignedRequest] {
        ["/health", "/live", "/apps/2/channels", "/apps/1/nothing"].map {
            SignedRequest(method: "GET", path: $0)
        }
    }

    private static var purges: [SignedRequest] {
        names.map { SignedRequest(method: "DELETE", path: "/apps/1/channels/\($0)/history") }
            + ["a", "cache-a", "vacant"].flatMap { name in
                [
                    get("/channels/\(name)/history"),
                    get("/channels/\(name)", [("info", "cache,position")]),
                ]
            }
    }
}
