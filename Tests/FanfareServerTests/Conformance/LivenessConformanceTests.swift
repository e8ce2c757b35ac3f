import Testing

@testable import FanfareServer

@Suite("Liveness by the rules, Pusher protocol §4") struct LivenessConformanceTests {
    /// A way of saying something.
    struct Sign: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var opcode: UInt8
        var text = ""
    }

    /// The time to answer is long, since a busy machine may be slow to see the ping: a client that were taken for
    /// dead would get no further ping, but an error.
    @Test(
        "A client is asked by a ping frame, and whatever it sends is a sign of life",
        arguments: [
            Sign(testDescription: "a pong frame only", opcode: 10),
            Sign(testDescription: "a ping frame only", opcode: 9),
            Sign(testDescription: "pusher:ping only", opcode: 1, text: #"{"event":"pusher:ping"}"#),
            Sign(
                testDescription: "pusher:pong only",
                opcode: 1,
                text: #"{"event":"pusher:pong","data":{}}"#
            ),
            Sign(testDescription: "nonsense", opcode: 1, text: "nonsense"),
        ]
    )
    func signs(sign: Sign) async throws {
        try await TestBroker.run { configuration in
            configuration.activityTimeout = 1
            configuration.pongTimeout = 8
        } _: { broker in
            let (client, _) = try await broker.connected()
            for _ in 0..<3 {
                var frame = try await client.next()
                while frame.opcode != 9 {
                    try #require(frame.closeCode == nil)
                    #expect(!frame.text.contains(#""code":4201"#))
                    frame = try await client.next()
                }
                try client.send(opcode: sign.opcode, Array(sign.text.utf8))
            }
        }
    }

    @Test("What a client is sent is no sign of its life")
    func subscribers() async throws {
        try await TestBroker.run { configuration in
            configuration.activityTimeout = 1
            configuration.pongTimeout = 8
        } _: { broker in
            let (client, _) = try await broker.connected()
            try client.send(#"{"event":"pusher:subscribe","data":{"channel":"news"}}"#)
            // A slow machine may be asked for a sign of life meanwhile, by ping frames.
            var frame = try await client.next()
            while frame.opcode == 9 { frame = try await client.next() }
            _ = try await broker.trigger("e", "1", on: "news")
            while frame.text != eventText("e", "news", data: "1") {
                try #require(frame.closeCode == nil)
                frame = try await client.next()
            }
            // The last sign of the client's life. Events go on coming; were they one, it would never be closed.
            try client.send(#"{"event":"pusher:ping"}"#)
            let publishing = Task {
                let wire = try Wire(port: broker.port)
                let body = #"{"name":"e","channel":"news","data":"2"}"#
                while !Task.isCancelled {
                    _ = try await wire.ask(SignedRequest(path: "/apps/1/events", body: body))
                    try await Task.sleep(for: .milliseconds(50))
                }
            }
            while frame.closeCode == nil { frame = try await client.next() }
            #expect(frame.closeCode == 4201)
            publishing.cancel()
            _ = try? await publishing.value
        }
    }

    @Test("A ping is answered at once in every state, also right behind the greeting")
    func answersAtOnce() async throws {
        try await TestBroker.run { broker in
            let (client, _) = try await broker.connected()
            for payload in ["", "a", String(repeating: "x", count: 125)] {
                try client.send(opcode: 9, Array(payload.utf8))
                let pong = try await client.next()
                #expect(pong.opcode == 10 && pong.text == payload)
            }
            try await client.subscribe(to: "news")
            try await client.expectNothing()
        }
    }
}
