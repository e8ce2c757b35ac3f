import Broker
import BrokerConfiguration
import HTTP1
import Testing
import WebSocket

@testable import FanfareServer

@Suite("Sessions over HTTP") struct HTTPSessionTests {
    /// A client of one session, whose requests each have their own connection.
    private struct Client {
        let port: UInt16
        var path = "/pusher/app/app-key/1/abcdefgh"
        private static let query = "protocol=7&client=js&version=8.4.0"

        private func request(_ operation: String, _ content: String, _ query: String) -> String {
            "POST \(path)/\(operation)?\(query) HTTP/1.1\r\nHost: h\r\n"
                + "Content-Type: application/json\r\nContent-Length: \(content.utf8.count)\r\n\r\n\(content)"
        }

        /// Requests messages, and reads the head of the answer and its prelude.
        func stream() async throws -> Wire {
            let wire = try Wire(port: port)
            try wire.send(request("xhr_streaming", "", Self.query))
            #expect(try await wire.read(through: "\r\n\r\n").hasPrefix("HTTP/1.1 200 "))
            #expect(try await wire.read(through: "\n").count == 2_049)
            return wire
        }

        /// Requests messages without waiting for the answer.
        func poll(on wire: Wire) throws { try wire.send(request("xhr", "", Self.query)) }

        func poll() async throws -> Answer {
            let wire = try Wire(port: port)
            try poll(on: wire)
            return try await wire.answer()
        }

        func sending(_ content: String, number: Int) -> String {
            request("xhr_send", content, "n=\(number)")
        }

        func send(_ content: String) async throws -> Answer {
            let wire = try Wire(port: port)
            try wire.send(request("xhr_send", content, ""))
            return try await wire.answer()
        }
    }

    private static func subscribe(_ channel: String) -> String {
        #"["{\"event\":\"pusher:subscribe\",\"data\":{\"channel\":\"\#(channel)\"}}"]"#
    }

    @Test(
        "A stream gets the events of its channels, whichever loop its requests reach",
        arguments: [1, 4]
    )
    func streams(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            for number in 0..<8 {
                let client = Client(port: broker.port, path: "/app/app-key/\(number)/abcdefgh")
                let wire = try await client.stream()
                #expect(try await wire.read(through: "\n") == "o\n")
                #expect(try await wire.read(through: "\n").contains("connection_established"))
                #expect(try await client.send(Self.subscribe("news")).status == 204)
                #expect(try await wire.read(through: "\n").contains("subscription_succeeded"))
                #expect(try await broker.trigger("new", "ü", on: "news").status == 200)
                let line = try await wire.read(through: "\n")
                #expect(line.hasPrefix("a[\"") && line.contains(#"\u00fc"#), "\(line)")
            }
        }
    }

    @Test("Polls get what waits, and wait if nothing does") func polls() async throws {
        try await TestBroker.run(loops: 2) { broker in
            let client = Client(port: broker.port)
            #expect(try await client.poll().body.hasPrefix("o\na[\""))
            #expect(try await client.send(Self.subscribe("news")).status == 204)
            #expect(try await client.poll().body.contains("subscription_succeeded"))
            let wire = try Wire(port: broker.port)
            for round in 1...3 {
                try client.poll(on: wire)
                #expect(try await broker.trigger("new", "\(round)", on: "news").status == 200)
                let answer = try await wire.answer()
                #expect(answer.status == 200 && answer.body.contains(#"\"\#(round)\""#))
            }
        }
    }

    @Test("The newer of two requests for messages gets them", arguments: [true, false])
    func supersedes(isStreaming: Bool) async throws {
        try await TestBroker.run { broker in
            let client = Client(port: broker.port)
            let former = isStreaming ? try await client.stream() : try Wire(port: broker.port)
            if isStreaming {
                _ = try await former.read(through: "established")
                _ = try await former.read(through: "\n")
            } else {
                _ = try await client.poll()
                try client.poll(on: former)
                // It is open before the next one arrives.
                #expect(try await client.send("[]").status == 204)
            }
            let wire = try await client.stream()
            let rest = "c[2010,\"Another connection still open\"]\n"
            if isStreaming {
                #expect(try await former.readToEnd() == Array(rest.utf8))
            } else {
                #expect(try await former.answer().body == rest)
            }
            #expect(try await client.send(Self.subscribe("news")).status == 204)
            #expect(try await wire.read(through: "\n").contains("subscription_succeeded"))
        }
    }

    @Test("A client whose response ends is a lost connection") func lost() async throws {
        try await TestBroker.run { broker in
            let client = Client(port: broker.port)
            do {
                let wire = try await client.stream()
                _ = try await wire.read(through: "established")
                #expect(await broker.server.connectionCount == 1)
            }
            try await eventually { await broker.server.connectionCount == 0 }
            #expect(try await client.send("[]").status == 404)
        }
    }

    // MARK: - Refusals

    @Test(
        "A session that does not exist has no messages",
        arguments: [
            "/pusher/app/app-key/1/abcdefgi", "/pusher/app/app-key/2/abcdefgh",
            "/pusher/app/app-key2/1/abcdefgh",
            "/app/app-key/1/abcdefgh", "/pusher/app/app-key/1/ABCDEFGH",
            "/pusher/app/app-key/01/abcdefgh",
        ]
    )
    func guesses(path: String) async throws {
        try await TestBroker.run { broker in
            let wire = try await Client(port: broker.port).stream()
            let answer = try await Client(port: broker.port, path: path).send(
                Self.subscribe("news")
            )
            #expect(answer.status == 404 && answer.body == "No such session\n")
            _ = wire
        }
    }

    @Test(
        "Content that is no array of strings is refused, and the session stays",
        arguments: [
            "", "{}", "[1]", "[", #""a""#, "[[]]", #"["a",]"#, "\u{0}", "null",
            "[" + String(repeating: #""a","#, count: 1_000) + #""a"]"#,
            String(repeating: "[", count: 100_000),
        ]
    )
    func badContent(content: String) async throws {
        try await TestBroker.run { broker in
            let client = Client(port: broker.port)
            let wire = try await client.stream()
            _ = try await wire.read(through: "established")
            _ = try await wire.read(through: "\n")
            let answer = try await client.send(content)
            #expect(answer.status == 400)
            #expect(answer.body == "The content is an array of at most 1000 strings\n")
            #expect(try await client.send(Self.subscribe("news")).status == 204)
            #expect(try await wire.read(through: "\n").contains("subscription_succeeded"))
        }
    }

    @Test("A message that breaks a rule of the protocol is answered as over a WebSocket")
    func badMessage() async throws {
        try await TestBroker.run { broker in
            let client = Client(port: broker.port)
            let wire = try await client.stream()
            _ = try await wire.read(through: "established")
            _ = try await wire.read(through: "\n")
            #expect(try await client.send(#"["no JSON"]"#).status == 204)
            #expect(try await wire.read(through: "\n").contains("pusher:error"))
        }
    }

    @Test("A message that is too long closes the session with 1009") func longMessage() async throws
    {
        try await TestBroker.run({ $0.webSocketLimits.messageLengthMax = 1_000 }) { broker in
            let client = Client(port: broker.port)
            let wire = try await client.stream()
            _ = try await wire.read(through: "established")
            _ = try await wire.read(through: "\n")
            let message = String(repeating: "x", count: 1_001)
            #expect(try await client.send("[\"\(message)\"]").status == 204)
            let line = "c[1009,\"A message of 1001 bytes is longer than 1000\"]\n"
            #expect(try await wire.readToEnd() == Array(line.utf8))
            #expect(await broker.metric(#"fanfare_limit_hits_total{limit="message_length"}"#) == 1)
        }
    }

    @Test("Messages that wait have a limit") func waitingMessages() async throws {
        try await TestBroker.run({ $0.httpLimits.bodyLengthMax = 5_000 }) { broker in
            let client = Client(port: broker.port)
            let wire = try await client.stream()
            _ = try await wire.read(through: "established")
            _ = try await wire.read(through: "\n")
            let message = "[\"" + String(repeating: "x", count: 2_000) + "\"]"
            // Number 2 is missing, so all others wait. The loop reads them at once, before the wait ends.
            let requests = [("[]", 1)] + (3...6).map { (message, $0) }
            let sender = try Wire(port: broker.port)
            try sender.send(requests.map { client.sending($0, number: $1) }.joined())
            let rest = String(decoding: try await wire.readToEnd(), as: UTF8.self)
            #expect(rest.contains("More than 5000 bytes of messages wait"), "\(rest)")
            #expect(
                await broker.metric(#"fanfare_limit_hits_total{limit="request_body_length"}"#) == 1
            )
            #expect(await broker.metric("fanfare_inbound_bytes") == 0)
            _ = sender
        }
    }

    @Test(
        "A client that may not connect is told why",
        arguments: [
            ("/app/nobody/1/abcdefgh", 4001), ("/app/app-key/1/abcdefgh", 4004),
        ]
    )
    func refusals(path: String, code: Int) async throws {
        try await TestBroker.run({ $0.apps[0].limits.connectionsMax = 1 }) { broker in
            let (other, _) = try await broker.connected()
            let answer = try await Client(port: broker.port, path: path).poll()
            let lines = answer.body.split(separator: "\n")
            #expect(answer.status == 200 && lines.count == 3 && lines[0] == "o")
            #expect(lines[1].contains("\\\"code\\\":\(code)") && lines[2].hasPrefix("c[\(code),"))
            #expect(await broker.server.connectionCount == 1)
            _ = other
        }
    }

    @Test("Only POST and OPTIONS are answered") func methods() async throws {
        try await TestBroker.run { broker in
            for (method, status) in [("GET", 405), ("DELETE", 405), ("OPTIONS", 204)] {
                let wire = try Wire(port: broker.port)
                try wire.send(
                    "\(method) /app/app-key/1/abcdefgh/xhr HTTP/1.1\r\nHost: h\r\nOrigin: http://a\r\n\r\n"
                )
                let answer = try await wire.answer()
                #expect(answer.status == status, "\(method)")
                if status == 204 {
                    #expect(answer.head.contains("Access-Control-Allow-Origin: http://a\r\n"))
                }
            }
        }
    }
}
