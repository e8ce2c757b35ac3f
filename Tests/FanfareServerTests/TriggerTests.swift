import Testing

@testable import FanfareServer

@Suite("Triggering events, POST /apps/{id}/events") struct TriggerTests {
    @Test("One trigger reaches every subscriber", arguments: [1, 2, 4])
    func reachesEverySubscriber(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            var clients: [WebSocketWire] = []
            for _ in 0..<20 {
                let (client, _) = try await broker.connected()
                try await client.subscribe(to: "userslist")
                clients.append(client)
            }
            let answer = try await broker.trigger(
                "addUser",
                #"{\"name\":\"Ann\"}"#,
                on: "userslist"
            )
            #expect(answer.status == 200)
            #expect(answer.body == "{}")
            for client in clients {
                #expect(
                    try await client.nextText()
                        == #"{"event":"addUser","channel":"userslist","data":"{\"name\":\"Ann\"}"}"#
                )
            }
        }
    }

    @Test("Events keep their order and none is lost", arguments: [1, 3])
    func keepsOrder(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            var clients: [WebSocketWire] = []
            for _ in 0..<6 {
                let (client, _) = try await broker.connected()
                try await client.subscribe(to: "ordered")
                clients.append(client)
            }
            let backend = try Wire(port: broker.port)
            for number in 0..<200 {
                let body = #"{"name":"n","channel":"ordered","data":"\#(number)"}"#
                try backend.send(SignedRequest(path: "/apps/1/events", body: body).text)
            }
            for _ in 0..<200 { #expect(try await backend.answer().status == 200) }
            for client in clients {
                for number in 0..<200 {
                    #expect(
                        try await client.nextText()
                            == #"{"event":"n","channel":"ordered","data":"\#(number)"}"#
                    )
                }
            }
        }
    }

    @Test("The connection with the socket_id is excluded", arguments: [1, 3])
    func excludes(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            let (sender, socketID) = try await broker.connected()
            let (other, _) = try await broker.connected()
            for client in [sender, other] { try await client.subscribe(to: "collabo") }
            let body =
                #"{"name":"text_update","channels":["collabo"],"data":"a","socket_id":"\#(socketID)"}"#
            let backend = try Wire(port: broker.port)
            #expect(
                try await backend.ask(SignedRequest(path: "/apps/1/events", body: body)).status
                    == 200
            )
            _ = try await broker.trigger("text_update", "b", on: "collabo")
            #expect(
                try await other.nextText()
                    == #"{"event":"text_update","channel":"collabo","data":"a"}"#
            )
            for client in [sender, other] {
                #expect(
                    try await client.nextText()
                        == #"{"event":"text_update","channel":"collabo","data":"b"}"#
                )
            }
        }
    }

    @Test("Several channels at once, each subscriber once a channel", arguments: [1, 2])
    func severalChannels(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            let (client, _) = try await broker.connected()
            for channel in ["a", "b", "c"] { try await client.subscribe(to: channel) }
            let body = #"{"name":"e","channels":["a","b","a","nobody"],"data":"x"}"#
            let backend = try Wire(port: broker.port)
            #expect(
                try await backend.ask(SignedRequest(path: "/apps/1/events", body: body)).body
                    == "{}"
            )
            let received = [try await client.nextText(), try await client.nextText()]
            #expect(
                Set(received) == [
                    #"{"event":"e","channel":"a","data":"x"}"#,
                    #"{"event":"e","channel":"b","data":"x"}"#,
                ]
            )
            _ = try await broker.trigger("last", "", on: "c")
            #expect(try await client.nextText() == #"{"event":"last","channel":"c","data":""}"#)
        }
    }

    @Test func batch() async throws {
        try await TestBroker.run(loops: 2) { broker in
            let (client, _) = try await broker.connected()
            try await client.subscribe(to: "a")
            let body =
                #"{"batch":[{"name":"e1","channel":"a","data":"1"},{"name":"e2","channel":"b","data":"2"},{"name":"e3","channel":"a","data":"3"}]}"#
            let backend = try Wire(port: broker.port)
            let answer = try await backend.ask(
                SignedRequest(path: "/apps/1/batch_events", body: body)
            )
            #expect(answer.status == 200)
            #expect(answer.body == "{}")
            #expect(try await client.nextText() == #"{"event":"e1","channel":"a","data":"1"}"#)
            #expect(try await client.nextText() == #"{"event":"e3","channel":"a","data":"3"}"#)
        }
    }

    @Test("The requested subscription counts", arguments: [1, 3])
    func info(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            var clients: [WebSocketWire] = []
            for channel in ["chat", "chat", "chat", "news"] {
                let (client, _) = try await broker.connected()
                try await client.subscribe(to: channel)
                clients.append(client)
            }
            let backend = try Wire(port: broker.port)
            let one = try await backend.ask(
                SignedRequest(
                    path: "/apps/1/events",
                    body:
                        #"{"name":"e","channels":["chat","news","nobody"],"data":"x","info":"subscription_count"}"#
                )
            )
            #expect(
                one.body
                    == #"{"channels":{"chat":{"subscription_count":3},"news":{"subscription_count":1},"nobody":{"subscription_count":0}}}"#
            )
            let batch = try await backend.ask(
                SignedRequest(
                    path: "/apps/1/batch_events",
                    body:
                        #"{"batch":[{"name":"e","channel":"chat","data":"x"},{"name":"e","channel":"news","data":"x","info":"subscription_count"}]}"#
                )
            )
            #expect(batch.body == #"{"batch":[{},{"subscription_count":1}]}"#)
        }
    }

    @Test(
        "An invalid trigger gets a status and a sentence, and nothing is published",
        arguments: [
            ("nonsense", 400), ("[]", 400), (#"{"channels":["a"],"data":"x"}"#, 400),
            (#"{"name":"e","data":"x"}"#, 400), (#"{"name":"e","channels":["a"]}"#, 400),
            (#"{"name":"e","channels":["a","b c"],"data":"x"}"#, 400),
            (#"{"name":"e","channels":[],"data":"x"}"#, 400),
            (#"{"name":"pusher:e","channels":["a"],"data":"x"}"#, 400),
            (#"{"name":"e","channels":["a"],"data":"x","socket_id":"nonsense"}"#, 400),
            (#"{"name":"e","channels":["a"],"data":"x","info":"nonsense"}"#, 400),
            (
                #"{"name":"e","channels":["a"],"data":"\#(String(repeating: "x", count: 102_401))"}"#,
                413
            ),
        ]
    )
    func refuses(body: String, status: Int) async throws {
        try await TestBroker.run { broker in
            let (client, _) = try await broker.connected()
            try await client.subscribe(to: "a")
            let backend = try Wire(port: broker.port)
            let answer = try await backend.ask(SignedRequest(path: "/apps/1/events", body: body))
            #expect(answer.status == status, "\(answer)")
            #expect(answer.head.lowercased().contains("content-type: text/plain"))
            // The connection can be used again, and the client has seen nothing.
            _ = try await backend.ask(
                SignedRequest(
                    path: "/apps/1/events",
                    body: #"{"name":"last","channel":"a","data":"x"}"#
                )
            )
            #expect(try await client.nextText() == #"{"event":"last","channel":"a","data":"x"}"#)
        }
    }

    private static let signed = SignedRequest(
        path: "/apps/1/events",
        body: #"{"name":"e","channel":"a","data":"x"}"#
    )

    private static func changed(_ change: (inout SignedRequest) -> Void) -> SignedRequest {
        var request = signed
        change(&request)
        return request
    }

    @Test(
        "Signatures of triggers",
        arguments: [
            (signed, 200, "{}"),
            (changed { $0.secret = "another" }, 401, "Invalid signature: you should have sent"),
            (changed { $0.key = "another" }, 401, "Unknown auth_key\n"),
            (changed { $0.timestamp -= 700 }, 401, "Timestamp expired"),
            (changed { $0.path = "/apps/2/events" }, 404, "No app has the ID 2"),
            (changed { $0.path = "/apps/1/nothing" }, 404, "Nothing is at /apps/1/nothing"),
            (changed { $0.path = "/elsewhere" }, 404, "Nothing is at /elsewhere"),
            (changed { $0.method = "PUT" }, 405, ""),
        ]
    )
    func authentication(request: SignedRequest, status: Int, text: String) async throws {
        try await TestBroker.run { broker in
            let backend = try Wire(port: broker.port)
            let answer = try await backend.ask(request)
            #expect(answer.status == status)
            #expect(answer.body.hasPrefix(text), "\(answer.body)")
            #expect(!answer.body.contains("app-secret"))
            // A refusal does not end the connection.
            #expect(try await backend.ask(Self.signed).status == 200)
        }
    }

    @Test(
        "OPTIONS lists the methods of a resource",
        arguments: [
            ("*", "GET, HEAD, POST, DELETE, OPTIONS"), ("/apps/1/events", "POST, OPTIONS"),
            ("/apps/1/channels", "GET, HEAD, OPTIONS"),
            ("/health", "GET, HEAD, OPTIONS"),
        ]
    )
    func options(target: String, allowed: String) async throws {
        try await TestBroker.run { broker in
            let wire = try Wire(port: broker.port)
            try wire.send("OPTIONS \(target) HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let answer = try await wire.answer()
            #expect(answer.status == 204)
            #expect(answer.head.contains("Allow: \(allowed)\r\n"))
        }
    }

    @Test func healthIsOpen() async throws {
        try await TestBroker.run { broker in
            let wire = try Wire(port: broker.port)
            try wire.send("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let answer = try await wire.answer()
            #expect(answer.status == 200)
            #expect(answer.body == "ok (fanfare 0.1.0)\n")
        }
    }

    @Test(
        "Every answer of the HTTP API has the version, once",
        arguments: ["/health", "/live", "/nothing", "/apps/1/channels", "/apps/2/channels"]
    )
    func answersHaveTheVersion(path: String) async throws {
        try await TestBroker.run { broker in
            let wire = try Wire(port: broker.port)
            try wire.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let head = try await wire.answer().head
            let lines = head.split(separator: "\r\n")
            #expect(lines.filter { $0 == "Fanfare-Version: 0.1.0" }.count == 1)
            // Prepared, and encoded when sent.
            for data in ["1", "2"] {
                let answer = try await broker.trigger("e", data, on: "news")
                #expect(answer.status == 200)
                #expect(answer.head.contains("\r\nFanfare-Version: 0.1.0\r\n"))
            }
        }
    }
}
