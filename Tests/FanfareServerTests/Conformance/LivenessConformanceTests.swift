import Broker
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

    /// How a client is present.
    enum Presence: CaseIterable {
        case member, signedIn
    }

    @Test(
        "A present client that has answered a pusher:ping and then answers ping frames only, as a frozen page, is closed",
        arguments: Presence.allCases
    )
    func frozen(presence: Presence) async throws {
        try await TestBroker.run { configuration in
            configuration.activityTimeout = 3
            configuration.pongTimeout = 3
            configuration.apps[0].features.presenceActivityTimeout = 1
            configuration.apps[0].features.presenceGrace = 0
        } _: { broker in
            let client =
                switch presence {
                case .member: try await broker.joined("presence-room", as: "ann").0
                case .signedIn: try await broker.signedIn(as: "ann").0
                }
            // Nobody knows yet whether it answers.
            #expect(try await client.next().text == #"{"event":"pusher:ping","data":{}}"#)
            #expect(try await client.next().opcode == 9)
            try client.send(#"{"event":"pusher:pong","data":{}}"#)
            #expect(try await client.next().text == #"{"event":"pusher:ping","data":{}}"#)
            try await client.expectEnd(4201)
        }
    }

    @Test("A present client that ignores pusher:ping stays as long as it answers ping frames")
    func ignoring() async throws {
        try await TestBroker.run { configuration in
            configuration.activityTimeout = 3
            configuration.pongTimeout = 8
            configuration.apps[0].features.presenceActivityTimeout = 1
        } _: { broker in
            let client = try await broker.joined("presence-room", as: "ann").0
            for _ in 0..<3 {
                #expect(try await client.next().text == #"{"event":"pusher:ping","data":{}}"#)
                #expect(try await client.next().opcode == 9)
                try client.send(opcode: 10, [])
            }
            #expect(try await broker.users(of: "presence-room") == ["ann"])
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
