import Broker
import BrokerConfiguration
import Logging
import Testing
import WebSocket

@testable import FanfareServer

@Suite("Connecting, Pusher protocol") struct ConnectionTests {
    @Test func greetsWithSocketIDAndActivityTimeout() async throws {
        try await TestBroker.run { broker in
            let client = try await broker.connect()
            let text = try await client.nextText()
            #expect(
                text.wholeMatch(
                    of:
                        /\{"event":"pusher:connection_established","data":"\{\\"socket_id\\":\\"\d+\.\d+\\",\\"activity_timeout\\":120\}"\}/
                ) != nil,
                "\(text)"
            )
        }
    }

    @Test(
        "A client that is refused is upgraded, gets an error, and is closed",
        arguments: [
            ("/app/unknown?protocol=7", 4001), ("/nothing/here", 4005), ("/app/", 4005),
            ("/app/app-key?protocol=three", 4006), ("/app/app-key?protocol=3", 4007),
            ("/app/app-key?protocol=8", 4007),
        ]
    )
    func refuses(target: String, code: Int) async throws {
        try await TestBroker.run { broker in
            let client = try await WebSocketWire(port: broker.port, target: target)
            let error = try await client.nextText()
            #expect(
                error.hasPrefix(#"{"event":"pusher:error","data":{"code":\#(code),"message":""#)
            )
            #expect(try await client.next().closeCode == code)
            #expect(try await client.wire.readToEnd() == [])
        }
    }

    @Test(
        "A path without the prefix is named, with the prefix, and without a session token",
        arguments: [
            (
                "/app/app-key?protocol=7",
                "/app/app-key is not /rt/app/KEY (listen.path_prefix is /rt)"
            ),
            ("/x/r/t0ken/app/app-key", "/x/r/…/app/app-key is not /rt/app/KEY"),
        ]
    )
    func namesThePath(target: String, text: String) async throws {
        let lines = LogLines()
        try await TestBroker.run(log: lines.logger(from: .info)) {
            $0.pathPrefix = "/rt"
        } _: { broker in
            let client = try await WebSocketWire(port: broker.port, target: target)
            #expect(try await client.nextText().contains("Path not found: \(text)"))
            #expect(try await client.next().closeCode == 4005)
            try await eventually { lines.all.contains { $0.contains(text) } }
            for (path, text) in [
                ("/apps/1/event", "Nothing is at /apps/1/event: listen.path_prefix is /rt\n"),
                ("/rt/none", "Nothing is at /rt/none: listen.path_prefix is /rt\n"),
            ] { #expect(try await broker.query(path).body == text) }
        }
        try await TestBroker.run { broker in
            let client = try await WebSocketWire(port: broker.port, target: "/rt/app/app-key")
            #expect(try await client.nextText().contains("(listen.path_prefix is none)"))
            let below = try await broker.query("/rt/apps/1/channels").body
            #expect(below == "Nothing is at /rt/apps/1/channels: listen.path_prefix is none\n")
        }
    }

    @Test(
        "Protocols 5, 6 and 7 are served, and requests without a version",
        arguments: ["?protocol=5", "?protocol=6", "?protocol=7", ""]
    )
    func serves(query: String) async throws {
        try await TestBroker.run { broker in
            let client = try await WebSocketWire(port: broker.port, target: "/app/app-key\(query)")
            _ = try await client.socketID()
        }
    }

    @Test func echoesTheSubprotocolWhenItIsOffered() async throws {
        try await TestBroker.run { broker in
            let client = try await WebSocketWire(
                port: broker.port,
                fields: "Sec-WebSocket-Protocol: pusher-channels-protocol-7\r\n"
            )
            #expect(
                client.responseHead.lowercased()
                    .contains("sec-websocket-protocol: pusher-channels-protocol-7\r\n")
            )
            let plain = try await broker.connect()
            #expect(!plain.responseHead.lowercased().contains("sec-websocket-protocol"))
        }
    }

    @Test func answersPingsOfBothKinds() async throws {
        try await TestBroker.run { broker in
            let (client, _) = try await broker.connected()
            try client.send(#"{"event":"pusher:ping","data":{}}"#)
            #expect(try await client.nextText() == #"{"event":"pusher:pong","data":{}}"#)
            try client.send(#"{"event":"pusher:ping"}"#)
            #expect(try await client.nextText() == #"{"event":"pusher:pong","data":{}}"#)
            try client.send(opcode: 9, Array("are you there?".utf8))
            #expect(
                try await client.next()
                    == WebSocketWire.Frame(opcode: 10, payload: Array("are you there?".utf8))
            )
        }
    }

    @Test func pingsASilentClientAsLongAsItAnswers() async throws {
        // The timeout is long: a busy machine may be slow to read the ping.
        try await TestBroker.run { configuration in
            configuration.activityTimeout = 1
            configuration.pongTimeout = 60
        } _: { broker in
            let (client, _) = try await broker.connected()
            for _ in 0..<2 {
                #expect(try await client.next().opcode == 9)
                try client.send(opcode: 10, [])
            }
        }
    }

    @Test func givesUpAClientThatDoesNotAnswer() async throws {
        try await TestBroker.run { configuration in
            configuration.activityTimeout = 1
            configuration.pongTimeout = 1
        } _: { broker in
            let (client, _) = try await broker.connected()
            #expect(try await client.next().opcode == 9)
            #expect(try await client.nextText().contains(#""code":4201"#))
            #expect(try await client.next().closeCode == 4201)
        }
    }

    @Test(
        "An error in the WebSocket protocol closes with its code",
        arguments: [
            (UInt8(2), "binary", 1003), (UInt8(3), "reserved", 1002), (UInt8(1), "\u{FF}", 1007),
        ]
    )
    func closesOnBrokenFrames(opcode: UInt8, payload: String, code: Int) async throws {
        try await TestBroker.run { broker in
            let (client, _) = try await broker.connected()
            let bytes: [UInt8] = payload == "\u{FF}" ? [0xFF] : Array(payload.utf8)
            try client.send(opcode: opcode, bytes)
            #expect(try await client.next().closeCode == code)
        }
    }

    @Test func answersAClose() async throws {
        try await TestBroker.run { broker in
            let (client, _) = try await broker.connected()
            try client.send(opcode: 8, [0x03, 0xE8])
            #expect(try await client.next().closeCode == 1000)
            #expect(try await client.wire.readToEnd() == [])
        }
    }

    @Test(
        "An invalid Pusher message gets an error, and the connection stays",
        arguments: [
            "", "nonsense", "[]", "{}", #"{"event":7}"#, #"{"event":"pusher:nonsense"}"#,
            #"{"event":"pusher:subscribe"}"#, #"{"event":"pusher:subscribe","data":{"channel":7}}"#,
        ]
    )
    func staysOpen(message: String) async throws {
        try await TestBroker.run { broker in
            let (client, _) = try await broker.connected()
            try client.send(message)
            let error = try await client.nextText()
            #expect(error.hasPrefix(#"{"event":"pusher:error","data":{"code":null,"message":""#))
            try client.send(#"{"event":"pusher:ping"}"#)
            #expect(try await client.nextText() == #"{"event":"pusher:pong","data":{}}"#)
        }
    }

    @Test func refusesAMessageOverTheLimitWhenItsLengthIsAnnounced() async throws {
        try await TestBroker.run {
            $0.webSocketLimits.messageLengthMax = 1_000
        } _: { broker in
            let (client, _) = try await broker.connected()
            // Only the head of a frame of 1,001 bytes.
            try client.wire.send([0x81, 0x80 | 126, 0x03, 0xE9, 0, 0, 0, 0])
            #expect(try await client.next().closeCode == 1009)
        }
    }

    @Test func connectionQuotaOfAnApp() async throws {
        try await TestBroker.run {
            $0.apps[0].limits.connectionsMax = 1
        } _: { broker in
            let (first, _) = try await broker.connected()
            let second = try await broker.connect()
            #expect(try await second.nextText().contains(#""code":4004"#))
            #expect(try await second.next().closeCode == 4004)
            try first.send(opcode: 8, [])
            _ = try await first.wire.readToEnd()
            // Its place in the quota is released once the broker has processed the end.
            try await eventually { await broker.server.connectionCount == 0 }
            _ = try await broker.connected()
        }
    }

    @Test("A stopping broker asks clients to reconnect at once", arguments: [1, 3])
    func stops(loops: Int) async throws {
        var clients: [WebSocketWire] = []
        try await TestBroker.run(loops: loops) { broker in
            for _ in 0..<20 { clients.append(try await broker.connected().0) }
            #expect(await broker.server.connectionCount == 20)
            let stopping = Task { await broker.server.stop(within: .seconds(5)) }
            for client in clients {
                #expect(try await client.nextText().contains(#""code":4200"#))
                #expect(try await client.next().closeCode == 4200)
                try client.send(opcode: 8, [0x10, 0x68])
            }
            clients = []
            await stopping.value
        }
    }
}
