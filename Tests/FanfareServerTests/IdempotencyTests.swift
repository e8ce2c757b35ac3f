import Testing

@testable import FanfareServer

/// Several of a kind, so that some events cross a link between shards.
private let channels = ["news", "sport", "weather", "private-a"]

@Suite("Events under an idempotency key") struct IdempotencyTests {
    private func trigger(
        _ port: UInt16,
        _ channel: String,
        data: String = "1",
        key: String? = "k-1",
        fields: [String] = []
    ) async throws -> Answer {
        let key = key.map { #","idempotency_key":"\#($0)""# } ?? ""
        let body = #"{"name":"e","channel":"\#(channel)","data":"\#(data)"\#(key)}"#
        return try await ask(port, "/apps/1/events", body, fields)
    }

    private func ask(
        _ port: UInt16,
        _ path: String,
        _ body: String,
        _ fields: [String] = []
    ) async throws -> Answer {
        let request = SignedRequest(path: path, body: body)
        let wire = try Wire(port: port)
        try wire.send(request.head(["Content-Length: \(body.utf8.count)"] + fields) + body)
        return try await wire.answer()
    }

    @Test("A repeated trigger is published once, and another event is refused", arguments: [1, 3])
    func triggers(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            for channel in channels {
                let (reader, _) = try await broker.subscribed(to: channel)
                #expect(try await trigger(broker.port, channel).body == "{}")
                let again = try await trigger(broker.port, channel)
                #expect(again.status == 200)
                #expect(again.body == #"{"repeated":true}"#)
                let other = try await trigger(broker.port, channel, data: "2")
                #expect(other.status == 422)
                #expect(
                    other.body.contains("Another event was published with this idempotency_key")
                )
                #expect(try await trigger(broker.port, channel, key: "k-2").body == "{}")
                let event = eventText("e", channel, data: "1")
                #expect(try await reader.nextText() == event)
                #expect(try await reader.nextText() == event)
                try await reader.expectNothing()
            }
        }
    }

    @Test(
        "The key may be a field of the request",
        arguments: ["Idempotency-Key", "X-Idempotency-Key"]
    )
    func fields(name: String) async throws {
        try await TestBroker.run { broker in
            let (reader, _) = try await broker.subscribed(to: "news")
            let field = ["\(name): abc"]
            for body in ["{}", #"{"repeated":true}"#] {
                let answer = try await trigger(broker.port, "news", key: nil, fields: field)
                #expect(answer.body == body)
            }
            // One of the event's own goes first.
            let own = try await trigger(broker.port, "news", key: "own", fields: field)
            #expect(own.body == "{}")
            let batch =
                #"{"batch":[\#(event("news", 1)),\#(event("sport", 2)),\#(event("news", 3))]}"#
            for _ in 0..<2 {
                let answer = try await ask(broker.port, "/apps/1/batch_events", batch, field)
                #expect(answer.status == 200)
            }
            for data in ["1", "1", "1", "3"] {
                #expect(try await reader.nextText() == eventText("e", "news", data: data))
            }
            try await reader.expectNothing()
        }
    }

    private func event(_ channel: String, _ data: Int) -> String {
        #"{"name":"e","channel":"\#(channel)","data":"\#(data)"}"#
    }

    @Test(
        "A key that is no string of 1 to 128 characters: 400",
        arguments: ["7", #""""#, "\"\(String(repeating: "k", count: 129))\""]
    )
    func invalid(key: String) async throws {
        try await TestBroker.run { broker in
            let body = #"{"name":"e","channel":"news","data":"1","idempotency_key":\#(key)}"#
            let answer = try await ask(broker.port, "/apps/1/events", body)
            #expect(answer.status == 400)
            #expect(answer.body.contains("idempotency_key must be a string of 1 to 128 characters"))
        }
    }
}

@Suite("Receipts of client events") struct ReceiptTests {
    private func receipt(_ channel: String, _ key: String) -> String {
        #"{"event":"pusher_internal:position","channel":"\#(channel)","key":"\#(key)"}"#
    }

    private func send(
        _ client: WebSocketWire,
        _ channel: String,
        data: Int = 1,
        key: String
    ) throws {
        try client.send(
            #"{"event":"client-e","channel":"\#(channel)","data":"\#(data)","key":"\#(key)"}"#
        )
    }

    @Test("An event with a key gets a receipt, and is published once", arguments: [1, 3])
    func receipts(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            for channel in ["private-a", "private-b", "private-c", "private-d"] {
                let (sender, _) = try await broker.subscribed(to: channel)
                let (reader, _) = try await broker.subscribed(to: channel)
                for key in ["k1", "k2", "k1"] {
                    try send(sender, channel, key: key)
                    #expect(try await sender.nextText() == receipt(channel, key))
                }
                for _ in 0..<2 {
                    #expect(
                        try await reader.nextText() == eventText("client-e", channel, data: "1")
                    )
                }
                try send(sender, channel, data: 2, key: "k1")
                let refusal = try await sender.nextText()
                #expect(refusal.contains(#""code":4301"#))
                #expect(refusal.contains("another event was sent to \(channel) under the key k1"))
                try await reader.expectNothing()
                try await sender.expectNothing()
            }
        }
    }

    @Test("The greeting says that receipts are sent, to a client that asks for them")
    func greeting() async throws {
        try await TestBroker.run { broker in
            let asking = try await WebSocketWire(
                port: broker.port,
                target: "/app/app-key?protocol=7&receipts=true"
            )
            #expect(try await asking.nextText().contains(#",\"receipts\":true}"#))
            let other = try await WebSocketWire(
                port: broker.port,
                target: "/app/app-key?protocol=7&receipts=yes"
            )
            let greeting = try await other.nextText()
            #expect(!greeting.contains("receipts"))
        }
    }

    @Test("An invalid key: pusher:error", arguments: ["7", #""""#])
    func invalid(key: String) async throws {
        try await TestBroker.run { broker in
            let (sender, _) = try await broker.subscribed(to: "private-a")
            try sender.send(
                #"{"event":"client-e","channel":"private-a","data":"1","key":\#(key)}"#
            )
            let error = try await sender.nextText()
            #expect(error.contains("pusher:error"))
            #expect(error.contains("key"))
        }
    }
}
