import Testing

@testable import FanfareServer

@Suite("Conformance: requests, HTTP API §1, §4") struct HTTPConformanceTests {
    private let trigger = SignedRequest(
        path: "/apps/1/events",
        body: #"{"name":"e","channel":"a","data":"1"}"#
    )

    @Test(
        "Other methods get 405 with Allow",
        arguments: [
            ("/apps/1/events", "POST"), ("/apps/1/batch_events", "POST"),
            ("/apps/1/channels", "GET, HEAD"), ("/apps/1/channels/a", "GET, HEAD"),
            ("/apps/1/channels/presence-a/users", "GET, HEAD"), ("/health", "GET, HEAD"),
            ("/apps/1/users/ann/terminate_connections", "POST"),
        ]
    )
    func methods(path: String, allowed: String) async throws {
        try await TestBroker.run { broker in
            for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "PROPFIND"]
            where !allowed.contains(method) {
                let wire = try Wire(port: broker.port)
                try wire.send(SignedRequest(method: method, path: path).text)
                let head = try await wire.read(through: "\r\n\r\n")
                #expect(head.hasPrefix("HTTP/1.1 405 "), "\(method)")
                #expect(head.lowercased().contains("\r\nallow: \(allowed.lowercased())\r\n"))
            }
        }
    }

    @Test(
        "HEAD is answered as GET is, without the content, and signed as HEAD (RFC 9110 §9.3.2)",
        arguments: [
            "/apps/1/channels", "/apps/1/channels/a", "/apps/1/channels/presence-a/users",
            "/apps/1/channels/a/users", "/apps/2/channels", "/nowhere", "/health",
        ]
    )
    func head(path: String) async throws {
        try await TestBroker.run { broker in
            let wire = try Wire(port: broker.port)
            func head(_ method: String, signed: String) async throws -> [String] {
                let request = SignedRequest(method: signed, path: path).text
                try wire.send(method + request.dropFirst(signed.count))
                let head = try await wire.read(through: "\r\n\r\n")
                return head.split(separator: "\r\n").map { $0.lowercased() }
                    .filter { !$0.hasPrefix("date: ") }
            }
            let given = try await head("HEAD", signed: "HEAD")
            // The connection is in step: the answer had no content.
            let answer = try await wire.ask(SignedRequest(method: "GET", path: path))
            let expected = answer.head.split(separator: "\r\n").map { $0.lowercased() }
                .filter { !$0.hasPrefix("date: ") }
            #expect(given == expected)
            #expect(given.contains("content-length: \(answer.body.utf8.count)"))
            #expect(answer.body.utf8.count > 0)
            guard path.hasPrefix("/apps/1/") else { return }
            let forged = try await head("HEAD", signed: "GET")
            #expect(forged.first == "http/1.1 401 unauthorized")
        }
    }

    @Test(
        "Unknown paths and unknown apps are 404",
        arguments: [
            ("/none", "Nothing is at /none\n"), ("/apps", "Nothing is at /apps\n"),
            ("/apps/1", "Nothing is at /apps/1\n"), ("/apps/1/event", "Nothing is at"),
            ("/apps/1/events/", "Nothing is at"), ("/apps/1/channels/a/members", "Nothing is at"),
            ("/apps/1/channels/a/stats", "Nothing is at"),
            ("/apps/1/channels/a/events", "Nothing is at"),
            ("/apps/404/channels", "No app has the ID 404\n"),
        ]
    )
    func nowhere(path: String, text: String) async throws {
        try await TestBroker.run { broker in
            let answer = try await broker.query(path)
            #expect(answer.status == 404)
            #expect(answer.body.hasPrefix(text))
        }
    }

    @Test("No answer has CORS fields: the API is for servers")
    func crossOrigin() async throws {
        try await TestBroker.run { broker in
            let wire = try Wire(port: broker.port)
            let origin = "Origin: https://a.test\r\nContent-Length"
            var answers = [
                try await wire.ask(text: trigger.text.replacing("Content-Length", with: origin))
            ]
            answers.append(
                try await wire.ask(
                    text: "OPTIONS /apps/1/events HTTP/1.1\r\nHost: h\r\nOrigin: https://a.test\r\n"
                        + "Access-Control-Request-Method: POST\r\n\r\n"
                )
            )
            answers.append(
                try await wire.ask(text: "GET /apps/1/channels HTTP/1.1\r\nHost: h\r\n\r\n")
            )
            #expect(answers.map(\.status) == [200, 204, 401])
            for answer in answers { #expect(!answer.head.lowercased().contains("access-control")) }
        }
    }

    @Test("Content-Type is ignored: libraries differ")
    func contentTypes() async throws {
        try await TestBroker.run { broker in
            let wire = try Wire(port: broker.port)
            for type in ["application/json", "text/plain", "application/x-www-form-urlencoded"] {
                let field = "Content-Type: \(type)\r\nContent-Length"
                let text = trigger.text.replacing("Content-Length", with: field)
                #expect(try await wire.ask(text: text).status == 200)
            }
            #expect(try await wire.ask(trigger).status == 200)
        }
    }

    @Test("100 Continue is sent before the content")
    func expectContinue() async throws {
        try await TestBroker.run { broker in
            let wire = try Wire(port: broker.port)
            let text = trigger.text.replacing(
                "Content-Length",
                with: "Expect: 100-continue\r\nContent-Length"
            )
            let head = try #require(text.firstRange(of: "\r\n\r\n"))
            try wire.send(String(text[..<head.upperBound]))
            #expect(try await wire.read(through: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
            try wire.send(String(text[head.upperBound...]))
            #expect(try await wire.answer().status == 200)
        }
    }

    @Test("A connection serves further requests, also after every kind of refusal")
    func keepAlive() async throws {
        try await TestBroker.run { broker in
            let wire = try Wire(port: broker.port)
            var forged = trigger
            forged.secret = "wrong"
            var faulty = trigger
            faulty.body = "nonsense"
            var nowhere = trigger
            nowhere.path = "/nowhere"
            var wrongMethod = trigger
            wrongMethod.method = "PUT"
            for (request, status) in [
                (forged, 401), (faulty, 400), (nowhere, 404), (wrongMethod, 405), (trigger, 200),
            ] {
                let answer = try await wire.ask(request)
                #expect(answer.status == status)
                #expect(!answer.head.lowercased().contains("connection: close"))
            }
            // All at once, without waiting for an answer.
            for request in [forged, trigger, faulty, trigger] { try wire.send(request.text) }
            var statuses: [Int] = []
            for _ in 0..<4 { statuses.append(try await wire.answer().status) }
            #expect(statuses == [401, 200, 400, 200])
        }
    }
}

extension Wire {
    /// Sends the text of a request, and waits for the answer.
    fileprivate func ask(text: String) async throws -> Answer {
        try send(text)
        return try await answer()
    }
}
