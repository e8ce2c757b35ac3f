import Broker
import BrokerConfiguration
import Testing

@testable import FanfareServer

@Suite("Conformance: connecting, Pusher protocol §1, §3, §5") struct ConnectingConformanceTests {
    private func refusal(
        _ broker: TestBroker,
        _ target: String = "/app/app-key?protocol=7",
        fields: String = ""
    ) async throws -> (text: String, close: WebSocketWire.Frame) {
        let client = try await WebSocketWire(port: broker.port, target: target, fields: fields)
        let text = try await client.nextText()
        let close = try await client.next()
        #expect(try await client.wire.readToEnd() == [], "nothing follows the close frame")
        return (text, close)
    }

    @Test(
        "Parameters may have any order; unknown ones and library versions are ignored",
        arguments: [
            "?protocol=7&client=js&version=8.6.0&flash=false",
            "?client=pusher-websocket-swift&version=10.1.10&protocol=7", "?version=not-a-version",
            "?protocol=7&version=&client=&flash&unknown=%C3%A9&unknown=2", "?protocol=5&version=1",
        ]
    )
    func parameters(query: String) async throws {
        try await TestBroker.run { broker in
            let client = try await WebSocketWire(port: broker.port, target: "/app/app-key\(query)")
            _ = try await client.socketID()
        }
    }

    @Test("A configured prefix precedes /app and is removed before routing")
    func prefix() async throws {
        try await TestBroker.run {
            $0.pathPrefix = "/realtime"
        } _: { broker in
            let client = try await WebSocketWire(
                port: broker.port,
                target: "/realtime/app/app-key?protocol=7"
            )
            _ = try await client.socketID()
            let refused = try await refusal(broker)
            #expect(refused.close.closeCode == 4005)
        }
    }

    @Test("An unknown subprotocol is not echoed, and the client is served")
    func otherSubprotocols() async throws {
        try await TestBroker.run { broker in
            let client = try await WebSocketWire(
                port: broker.port,
                fields: "Sec-WebSocket-Protocol: something-else\r\n"
            )
            #expect(!client.responseHead.lowercased().contains("sec-websocket-protocol"))
            _ = try await client.socketID()
        }
    }

    @Test("Socket IDs are digits, a dot and digits, small enough for JavaScript, and differ")
    func socketIDs() async throws {
        try await TestBroker.run(loops: 2) { broker in
            var seen: Set<String> = []
            for _ in 0..<50 {
                let (_, id) = try await broker.connected()
                let parts = id.split(separator: ".").compactMap { UInt64($0) }
                #expect(parts.count == 2 && parts.allSatisfy { $0 < 1 << 53 }, "\(id)")
                #expect(seen.insert(id).inserted)
            }
        }
    }

    @Test("The activity timeout is the configured one, a positive number of seconds")
    func activityTimeout() async throws {
        try await TestBroker.run {
            $0.activityTimeout = 77
        } _: { broker in
            let text = try await broker.connect().nextText()
            #expect(text.contains(#"\"activity_timeout\":77}"#))
        }
    }

    @Test("4008 for a client without the protocol version, if it is required")
    func missingVersion() async throws {
        try await TestBroker.run {
            $0.requiresProtocolVersion = true
        } _: { broker in
            for target in ["/app/app-key", "/app/app-key?client=js", "/app/unknown?protocol="] {
                let refused = try await refusal(broker, target)
                #expect(
                    refused.text
                        == #"{"event":"pusher:error","data":{"code":4008,"message":"No protocol version supplied"}}"#
                )
                #expect(refused.close.closeCode == 4008)
            }
            _ = try await broker.connected()
        }
    }

    @Test("4100 when the broker has its maximum of connections")
    func overCapacity() async throws {
        try await TestBroker.run {
            $0.connectionsMax = 1
        } _: { broker in
            let (first, _) = try await broker.connected()
            let refused = try await refusal(broker)
            #expect(refused.text.contains(#""code":4100,"#))
            #expect(refused.close.closeCode == 4100)
            try await first.expectNothing()
        }
    }

    @Test("4100 for a client that breaks the protocol repeatedly")
    func habitOfFaults() async throws {
        try await TestBroker.run { broker in
            let (client, _) = try await broker.connected()
            // Twice the limit per minute, since the minute may end in between.
            for _ in 0..<242 { try client.send("nonsense") }
            var frame = try await client.next()
            while frame.text.contains(#""code":null"#) { frame = try await client.next() }
            #expect(frame.text.hasPrefix(#"{"event":"pusher:error","data":{"code":4100,"#))
            #expect(try await client.next().closeCode == 4100)
        }
    }

    @Test("A close reason fits in its frame; the whole text is in the pusher:error before it")
    func longReasons() async throws {
        try await TestBroker.run {
            $0.apps[0].allowedOrigins = ["https://a.test"]
        } _: { broker in
            let origin = "https://\(String(repeating: "é", count: 150)).test"
            let refused = try await refusal(broker, fields: "Origin: \(origin)\r\n")
            #expect(refused.text.contains(origin))
            #expect(refused.close.closeCode == 4009)
            #expect(refused.close.payload.count <= 125)
            let reason = refused.close.payload.dropFirst(2)
            #expect(String(validating: reason, as: UTF8.self)?.isEmpty == false)
        }
    }
}
