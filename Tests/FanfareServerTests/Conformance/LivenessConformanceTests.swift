import BrokerConfiguration
import Testing

@testable import FanfareServer

@Suite("Conformance: liveness, Pusher protocol §4") struct LivenessConformanceTests {
    /// A form of a message.
    struct Sign: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var opcode: UInt8
        var text = ""
    }

    /// The timeout is long, since a busy machine may be slow to read the ping: a client that is considered dead would
    /// get an error instead of a further ping.
    @Test(
        "A silent client gets a ping frame, and anything it sends is a sign of life",
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

    @Test("Data sent to a client is no sign of life")
    func subscribers() async throws {
        try await TestBroker.run { configuration in
            configuration.activityTimeout = 1
            configuration.pongTimeout = 8
        } _: { broker in
            let (client, _) = try await broker.connected()
            try client.send(#"{"event":"pusher:subscribe","data":{"channel":"news"}}"#)
            // On a slow machine there may be ping frames in between.
            var frame = try await client.next()
            while frame.opcode == 9 { frame = try await client.next() }
            _ = try await broker.trigger("e", "1", on: "news")
            while frame.text != eventText("e", "news", data: "1") {
                try #require(frame.closeCode == nil)
                frame = try await client.next()
            }
            // The last sign of life. Events keep arriving; if they counted, the client would never be closed.
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

    @Test("A ping is answered at once in every state, also right after the greeting")
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
