import Testing

@testable import FanfareServer

@Suite("Subscribing, Pusher protocol") struct SubscriptionTests {
    @Test("Public channels are acknowledged with the string \"{}\"", arguments: [1, 2])
    func acknowledges(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            for channel in ["userslist", "a-b_c=d@e,f.g;h", "privatefoo"] {
                let (client, _) = try await broker.connected()
                try await client.subscribe(to: channel)
            }
        }
    }

    @Test func dataMayBeAStringThatHoldsTheObject() async throws {
        try await TestBroker.run { broker in
            let (client, _) = try await broker.connected()
            try client.send(#"{"event":"pusher:subscribe","data":"{\"channel\":\"chat\"}"}"#)
            #expect(
                try await client.nextText()
                    == #"{"event":"pusher_internal:subscription_succeeded","channel":"chat","data":"{}"}"#
            )
        }
    }

    @Test func aSecondSubscriptionIsAnErrorAndChangesNothing() async throws {
        try await TestBroker.run { broker in
            let (client, _) = try await broker.connected()
            try await client.subscribe(to: "chat")
            try client.send(#"{"event":"pusher:subscribe","data":{"auth":"","channel":"chat"}}"#)
            #expect(
                try await client.nextText()
                    == #"{"event":"pusher:error","data":{"code":null,"message":"Existing subscription to channel chat"}}"#
            )
            _ = try await broker.trigger("e", "1", on: "chat")
            #expect(try await client.nextText() == #"{"event":"e","channel":"chat","data":"1"}"#)
            try client.send(#"{"event":"pusher:ping"}"#)
            #expect(try await client.nextText() == #"{"event":"pusher:pong","data":{}}"#)
        }
    }

    @Test(
        "An invalid subscription is refused with both events",
        arguments: [
            "with space", "slash/", "private-chat", "presence-chat", "#server-to-user-1",
            String(repeating: "x", count: 201),
        ]
    )
    func refuses(channel: String) async throws {
        try await TestBroker.run { broker in
            let (client, _) = try await broker.connected()
            try client.send(#"{"event":"pusher:subscribe","data":{"channel":"\#(channel)"}}"#)
            let refusal = try await client.nextText()
            #expect(
                refusal.hasPrefix(
                    #"{"event":"pusher:subscription_error","channel":"\#(channel)","data":""#
                )
            )
            #expect(
                try await client.nextText().hasPrefix(
                    #"{"event":"pusher:error","data":{"code":null"#
                )
            )
        }
    }

    @Test("No event follows an unsubscription", arguments: [1, 2])
    func unsubscribes(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            let (other, _) = try await broker.connected()
            try await other.subscribe(to: "chat")
            let (client, _) = try await broker.connected()
            try await client.subscribe(to: "chat")
            try client.send(#"{"event":"pusher:unsubscribe","data":{"channel":"chat"}}"#)
            try client.send(#"{"event":"pusher:ping"}"#)
            #expect(try await client.nextText() == #"{"event":"pusher:pong","data":{}}"#)
            _ = try await broker.trigger("e", "1", on: "chat")
            // The answer does not imply delivery: another subscriber shows when the event has arrived.
            #expect(try await other.nextText() == #"{"event":"e","channel":"chat","data":"1"}"#)
            try await client.subscribe(to: "chat")
            _ = try await broker.trigger("e", "2", on: "chat")
            #expect(try await client.nextText() == #"{"event":"e","channel":"chat","data":"2"}"#)
        }
    }

    @Test func unsubscribingFromNothingIsAnError() async throws {
        try await TestBroker.run { broker in
            let (client, _) = try await broker.connected()
            try client.send(#"{"event":"pusher:unsubscribe","data":{"channel":"chat"}}"#)
            #expect(
                try await client.nextText()
                    == #"{"event":"pusher:error","data":{"code":null,"message":"No current subscription to channel chat, or subscription in progress"}}"#
            )
        }
    }

    @Test("Subscribing again and again in one write leaves one subscription", arguments: [1, 3])
    func races(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            for channel in (0..<8).map({ "chat-\($0)" }) {
                let (client, _) = try await broker.connected()
                let subscribe = #"{"event":"pusher:subscribe","data":{"channel":"\#(channel)"}}"#
                let unsubscribe =
                    #"{"event":"pusher:unsubscribe","data":{"channel":"\#(channel)"}}"#
                for message in [subscribe, unsubscribe, subscribe, unsubscribe, subscribe] {
                    try client.send(message)
                }
                try client.send(#"{"event":"pusher:ping"}"#)
                var texts: [String] = []
                while texts.last?.contains("pusher:pong") != true {
                    texts.append(try await client.nextText())
                }
                _ = try await broker.trigger("e", "once", on: channel)
                let event = #"{"event":"e","channel":"\#(channel)","data":"once"}"#
                while texts.last != event { texts.append(try await client.nextText()) }
                // Grants that come from another shard after the next request are not acknowledged.
                let acknowledgements = texts.filter { $0.contains("subscription_succeeded") }
                #expect((1...3).contains(acknowledgements.count))
                #expect(texts.count == acknowledgements.count + 2, "\(texts)")
                try client.send(#"{"event":"pusher:ping"}"#)
                #expect(try await client.nextText() == #"{"event":"pusher:pong","data":{}}"#)
            }
        }
    }
}
