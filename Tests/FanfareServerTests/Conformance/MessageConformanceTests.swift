import Testing

@testable import FanfareServer

@Suite("Conformance: messages, Pusher protocol §2, §5.4") struct MessageConformanceTests {
    /// The type of `data` in a message: a string, an object, another type, or absent.
    private func form(_ message: String) -> String {
        guard let data = message.firstRange(of: #""data":"#) else { return "absent" }
        switch message[data.upperBound...].first {
        case "\"": return "string"
        case "{": return "object"
        default: return "other"
        }
    }

    @Test("Each event has data in the form that all official clients read, and never null")
    func forms() async throws {
        try await TestBroker.run { broker in
            let ann = try await broker.connect()
            let greeting = try await ann.nextText()
            #expect(greeting.contains("pusher:connection_established"))
            #expect(form(greeting) == "string")

            let (bob, socketID) = try await broker.connected()
            for (channel, user) in [("presence-room", "bob"), ("presence-room", "bob")] {
                let data = #"{"user_id":"\#(user)"}"#
                try bob.send(subscribeMessage(to: channel, socketID: socketID, data: data))
                let text = try await bob.nextText()
                // The second subscription to a channel is refused.
                #expect(form(text) == (text.contains("succeeded") ? "string" : "object"), "\(text)")
            }
            let (cid, _) = try await broker.joined("presence-room", as: "cid")
            let added = try await bob.nextText()
            #expect(added.contains("member_added") && form(added) == "string")
            _ = try await broker.post(#"{"name":"e","channel":"presence-room","data":{"a":1}}"#)
            #expect(try await form(bob.nextText()) == "string")
            try cid.unsubscribe(from: "presence-room")
            let removed = try await bob.nextText()
            #expect(removed.contains("member_removed") && form(removed) == "string")

            try bob.send(#"{"event":"pusher:subscribe","data":{"channel":"private-x"}}"#)
            let refusal = try await bob.nextText()
            #expect(refusal.contains("pusher:subscription_error") && form(refusal) == "string")
            let error = try await bob.nextText()
            #expect(error.contains("pusher:error") && form(error) == "object")
            try bob.send(#"{"event":"pusher:ping"}"#)
            #expect(try await form(bob.nextText()) == "object")
        }
    }

    @Test("A message may come in fragments, with control frames between them")
    func fragments() async throws {
        try await TestBroker.run { broker in
            let (client, _) = try await broker.connected()
            func send(_ first: UInt8, _ payload: String) throws {
                // With a mask of zeros the payload is unchanged.
                let bytes = Array(payload.utf8)
                try client.wire.send([first, 0x80 | UInt8(bytes.count), 0, 0, 0, 0] + bytes)
            }
            try send(0x01, #"{"event":"pusher:sub"#)
            try send(0x89, "between")
            try send(0x00, #"scribe","data":{"#)
            try send(0x80, #""channel":"news"}}"#)
            #expect(try await client.next().opcode == 10)
            #expect(
                try await client.nextText()
                    == #"{"event":"pusher_internal:subscription_succeeded","channel":"news","data":"{}"}"#
            )
        }
    }

    @Test("Unknown members are ignored")
    func unknownMembers() async throws {
        try await TestBroker.run { broker in
            let (client, _) = try await broker.connected()
            try client.send(
                #"{"id":7,"event":"pusher:subscribe","data":{"channel":"news","filter":{"cmp":"eq"},"delta":true},"user_id":"x"}"#
            )
            #expect(try await client.nextText().contains("subscription_succeeded"))
        }
    }

    @Test("An unknown event is answered with its name, without a code")
    func unknownEvents() async throws {
        try await TestBroker.run { broker in
            let (client, _) = try await broker.connected()
            for name in ["pusher:nonsense", "pusher_internal:subscribe", "nonsense"] {
                try client.send(#"{"event":"\#(name)","data":{}}"#)
                #expect(
                    try await client.nextText()
                        == #"{"event":"pusher:error","data":{"code":null,"message":"Unsupported event received on socket: '\#(name)'"}}"#
                )
            }
            try await client.expectNothing()
        }
    }
}
