import Broker
import BrokerConfiguration
import Testing

@testable import FanfareServer

/// Three of each kind, so that some events cross a link between shards.
private let channels = ["a", "b", "c"].flatMap {
    ["private-\($0)", "presence-\($0)", "private-encrypted-\($0)"]
}

@Suite("Client events, Pusher protocol §9") struct ClientEventTests {
    @Test(
        "A client event goes to all other subscribers, never to its sender",
        arguments: [1, 3]
    )
    func relays(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            for channel in channels {
                let (sender, _) = try await broker.subscribed(to: channel)
                var others: [WebSocketWire] = []
                for _ in 0..<3 { others.append(try await broker.subscribed(to: channel).0) }
                try sender.publish("client-typing", channel, json: #""now""#)
                let user = channel.hasPrefix("presence-") ? "ann" : nil
                let event = eventText("client-typing", channel, data: "now", userID: user)
                for other in others {
                    #expect(try await other.nextText() == event)
                    try await other.expectNothing()
                }
                try await sender.expectNothing()
            }
        }
    }

    @Test(
        "Data is a string: verbatim if it was one, serialised if not, absent if absent",
        arguments: [
            (#""plain""#, #""plain""#),
            (#""with \"quotes\" and \u00e9""#, #""with \"quotes\" and \u00e9""#),
            (#"{"n": 12345678901234567890.10}"#, #""{\"n\": 12345678901234567890.10}""#),
            // Text that was cut inside an emoji is legal, RFC 8259 §8.2.
            (#""\ud83d""#, #""\ud83d""#),
            (#""{\"t\":\"\\uDE00\"}""#, #""{\"t\":\"\\uDE00\"}""#),
            (#"{"t":"\ud83d"}"#, #""{\"t\":\"\\ud83d\"}""#),
            ("[1,2]", #""[1,2]""#),
            ("7", #""7""#),
            (nil, nil),
        ] as [(String?, String?)]
    )
    func forwardsData(json: String?, token: String?) async throws {
        try await TestBroker.run { broker in
            let (sender, _) = try await broker.subscribed(to: "private-x")
            let (other, _) = try await broker.subscribed(to: "private-x")
            try sender.publish("client-e", "private-x", json: json)
            let data = token.map { #","data":\#($0)"# } ?? ""
            #expect(
                try await other.nextText()
                    == #"{"event":"client-e","channel":"private-x"\#(data)}"#
            )
        }
    }

    @Test(
        "On a presence channel user_id is the sender's, even if it sends another",
        arguments: [1, 3]
    )
    func namesTheUser(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            for channel in ["presence-a", "presence-b", "presence-cache-c"] {
                let (ann, _) = try await broker.subscribed(to: channel, as: "ann")
                if channel.contains("cache") { _ = try await ann.nextText() }
                let (bob, _) = try await broker.subscribed(to: channel, as: "bob")
                if channel.contains("cache") { _ = try await bob.nextText() }
                #expect(try await ann.nextText() == Notice.added("bob", channel))
                try bob.send(
                    #"{"event":"client-e","channel":"\#(channel)","data":"1","user_id":"ann"}"#
                )
                #expect(
                    try await ann.nextText()
                        == eventText("client-e", channel, data: "1", userID: "bob")
                )
            }
        }
    }

    @Test("On other channels there is no user_id, even if the sender sends one")
    func namesNobody() async throws {
        try await TestBroker.run { broker in
            let (sender, _) = try await broker.subscribed(to: "private-x")
            let (other, _) = try await broker.subscribed(to: "private-x")
            try sender.send(
                #"{"event":"client-e","channel":"private-x","data":"1","user_id":"ann"}"#
            )
            #expect(try await other.nextText() == eventText("client-e", "private-x", data: "1"))
        }
    }

    @Test("Events of clients and of backends have one order, the same for all", arguments: [1, 3])
    func keepsTheOrder(loops: Int) async throws {
        try await TestBroker.run(loops: loops) {
            $0.apps[0].limits.clientEventRate = Rate(perSecond: 1_000)
        } _: { broker in
            for channel in ["private-a", "private-b", "private-c"] {
                let (sender, _) = try await broker.subscribed(to: channel)
                var others: [WebSocketWire] = []
                for _ in 0..<4 { others.append(try await broker.subscribed(to: channel).0) }
                for number in 0..<20 {
                    try sender.publish("client-e", channel, json: "\(number)")
                    if number % 5 == 0 { _ = try await broker.trigger("e", "x", on: channel) }
                }
                var orders: [[String]] = []
                for other in others {
                    var texts: [String] = []
                    for _ in 0..<24 { texts.append(try await other.nextText()) }
                    orders.append(texts)
                }
                let own = orders[0].filter { $0.contains("client-e") }
                #expect(
                    own == (0..<20).map { eventText("client-e", channel, data: "\($0)") }
                )
                for order in orders { #expect(order == orders[0]) }
            }
        }
    }

    @Test(
        "A refused event is answered with code null and not relayed; the connection stays",
        arguments: [
            (
                "private-other", "client-e", #""1""#,
                "Cannot broadcast client event (connection not subscribed to channel private-other)"
            ),
            (
                "chat", "client-e", #""1""#,
                "Client event rejected - only supported on private and presence channels"
            ),
            (
                "private-x", "typing", #""1""#,
                "Client event rejected - client events must be prefixed by 'client-'"
            ),
            (
                "private-x", "client-" + String(repeating: "x", count: 194), #""1""#,
                "Client event rejected - invalid event name"
            ),
            (
                "private-x", "client-e", #""\#(String(repeating: "x", count: 102_401))""#,
                "Client event rejected - its data has 102401 bytes, at most 102400 are allowed"
            ),
        ]
    )
    func refuses(channel: String, name: String, json: String, reason: String) async throws {
        try await TestBroker.run { broker in
            let (sender, _) = try await broker.subscribed(to: "private-x")
            let (other, _) = try await broker.subscribed(to: "private-x")
            try await sender.subscribe(to: "chat")
            try await other.subscribe(to: "chat")
            try sender.publish(name, channel, json: json)
            let error = try await sender.nextText()
            #expect(
                error.hasPrefix(
                    #"{"event":"pusher:error","data":{"code":null,"message":"\#(reason)"#
                ),
                "\(error)"
            )
            for client in [sender, other] { try await client.expectNothing() }
        }
    }

    @Test("Where the app does not allow client events, none is relayed")
    func featureOff() async throws {
        try await TestBroker.run {
            $0.apps[0].features.clientEvents = false
        } _: { broker in
            let (sender, _) = try await broker.subscribed(to: "private-x")
            let (other, _) = try await broker.subscribed(to: "private-x")
            try sender.publish("client-e", "private-x", json: "1")
            let error = try await sender.nextText()
            #expect(error.contains(#""code":null,"message":"To send client events, you must"#))
            try await other.expectNothing()
        }
    }

    @Test("Over the rate an event is dropped with 4301, and the connection stays")
    func rate() async throws {
        try await TestBroker.run {
            $0.apps[0].limits.clientEventRate = Rate(perSecond: 1)
        } _: { broker in
            let (sender, _) = try await broker.subscribed(to: "private-x")
            let (other, _) = try await broker.subscribed(to: "private-x")
            try sender.publish("client-e", "private-x", json: "1")
            try sender.publish("client-e", "private-x", json: "2")
            let error = try await sender.nextText()
            #expect(error.contains(#""code":4301,"message":"Client event rejected due to rate"#))
            #expect(try await other.nextText() == eventText("client-e", "private-x", data: "1"))
            for client in [sender, other] { try await client.expectNothing() }
        }
    }

    @Test("Above relayed_events_max the event is refused with an error", arguments: [1, 3])
    func behind(loops: Int) async throws {
        try await TestBroker.run(loops: loops, lineLengthMax: -1) { broker in
            let (sender, _) = try await broker.subscribed(to: "private-x")
            let (other, _) = try await broker.subscribed(to: "private-x")
            try sender.publish("client-e", "private-x", json: "1")
            let error = try await sender.nextText()
            #expect(error.contains("the broker has more events than it can relay: try again"))
            for client in [sender, other] { try await client.expectNothing() }
        }
    }
}
