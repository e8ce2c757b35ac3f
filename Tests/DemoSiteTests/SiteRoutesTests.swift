import DemoSite
import FanfareAPI
import HTTP1
import TestSite
import Testing

@Suite("The site of the demos") struct SiteRoutesTests {
    private static let demo = Demo(
        name: "Greetings",
        path: "/greetings/",
        files: [SiteFile("index.html", Array("<title>Hi</title>".utf8))]
    ) { environment in
        [
            .get("all") { _ in try .encoding(["Hello"]) },
            .get("/hello") { _ in try .encoding("Hello") },
            .post("refuse") { _ in throw RequestError.refused(409, "Not today.") },
            .post("fail") { _ in throw FanfareAPIError.unreachable("secret") },
            .post("tell") { request in
                let text = try request.decode([String].self)[0]
                try environment.outbox.post(OutgoingEvent("hello", on: "greetings", data: text))
                return try .encoding(text)
            },
        ]
    }

    private func site() async throws -> SiteProbe { try await SiteProbe(Self.demo) }

    @Test("The root says what it is, and is a page for a browser")
    func theRoot() async throws {
        let site = try await site()
        for accept in [nil, "*/*", "application/json"] {
            let answer = try await site.answer(.get, "/", accept: accept)
            #expect(answer.status == 200)
            #expect(answer.body.hasPrefix("These are the demos of Fanfare: open http://"))
        }
        let page = try await site.answer(.get, "/", accept: "text/html,*/*;q=0.8")
        #expect(page.status == 200)
        #expect(page.type == "text/html; charset=utf-8")
        for path in ["/table/", "/room/", "/contacts/", "/text/", "/films/", "/to-do/"] {
            #expect(page.body.contains("href=\"\(path)\""))
        }
    }

    @Test(arguments: [
        "site.css", "landing.css", "landing.js", "pusher-js.js", "broker.js",
        "backend.js", "me.js", "people.js", "offline.js", "site.js", "live-list.js",
        "fanfare-live.js", "rows.js",
    ])
    func pagesFindTheSharedFiles(name: String) async throws {
        let reply = try await site().answer(.get, "/\(name)")
        #expect(reply.status == 200)
        #expect(reply.type?.hasPrefix("text/") == true)
        #expect(!reply.body.isEmpty)
    }

    @Test(arguments: ["icon.svg", "row-icons.svg"])
    func pagesFindTheIcons(name: String) async throws {
        let reply = try await site().answer(.get, "/\(name)")
        #expect(reply.status == 200 && reply.type == "image/svg+xml")
        #expect(reply.body.hasPrefix("<svg"))
    }

    @Test func pagesReceiveTheBrokersAddress() async throws {
        let config = try sorted(try await site().answer(.get, "/config.json").body)
        let expected =
            #"{"key":"app-key","port":6001,"pusherJS":"\#(PublicBroker.pusherJS)","tls":false}"#
        #expect(config == expected)
    }

    @Test(arguments: [("/greetings/all", #"["Hello"]"#), ("/hello", #""Hello""#)])
    func routesAreBelowTheirDemoOrAtTheRoot(path: String, body: String) async throws {
        let site = try await site()
        #expect(try await site.answer(.get, path).body == body)
        #expect(try await site.answer(.head, path).status == 200)
    }

    @Test(arguments: [("/greetings", "/greetings/"), ("/greetings?a=b", "/greetings/?a=b")])
    func aForgottenSlashIsPutRight(target: String, location: String) async throws {
        let reply = try await site().answer(.get, target)
        #expect(reply.status == 308)
        #expect(reply.response.field("location") == location)
    }

    @Test func externalScriptsAreAllowedOnlyOnRequest() async throws {
        let site = try await site()
        func policy(_ target: String) async throws -> String? {
            try await site.answer(.get, target).response.field("content-security-policy")
        }
        let own = "default-src 'self'; connect-src *; base-uri 'none'; script-src 'self'"
        let broker = "\(own) http://site.example:6001"
        #expect(try await policy("/greetings/") == broker)
        #expect(try await policy("/greetings/?client=fanfare") == broker)
        let both = "\(broker) \(PublicBroker.pusherJS)"
        #expect(try await policy("/greetings/?client=pusher-js") == both)
    }

    @Test(
        "Pages load the broker's scripts from the host that serves them, or from the configured one",
        arguments: [
            (nil, "demos.test:4000", "http://demos.test:6001"),
            (nil, "127.0.0.1", "http://127.0.0.1:6001"), (nil, "[::1]", "http://[::1]:6001"),
            (nil, "[::1]:4000", "http://[::1]:6001"),
            ("push.test", "a.test", "http://push.test:6001"),
            (nil, "a.test; script-src *", nil), (nil, "", nil), (nil, nil, nil),
        ]
    )
    func originOfTheBroker(host: String?, authority: String?, origin: String?) {
        let broker = PublicBroker(key: "app-key", host: host, port: 6001, tls: false)
        #expect(broker.origin(besides: authority) == origin)
    }

    @Test(arguments: [
        (HTTP1.Method.get, "/nowhere"), (.get, "/greetings/refuse"), (.post, "/"),
        (.put, "/hello"), (.get, "/../Package.swift"), (.get, "/greetings/index.html"),
    ])
    func nothingElseIsHere(method: HTTP1.Method, path: String) async throws {
        let reply = try await site().answer(method, path, accept: "text/html")
        #expect(reply.status == 404)
        #expect(reply.body == #"{"error":"There is no route \#(method) \#(path)."}"#)
    }

    @Test func refusalsHaveAReasonAndFailuresDoNot() async throws {
        let site = try await site()
        let refusal = try await site.answer(.post, "/greetings/refuse")
        #expect(refusal.status == 409)
        #expect(refusal.body == #"{"error":"Not today."}"#)
        let failure = try await site.answer(.post, "/greetings/fail")
        #expect(failure.status == 500)
        #expect(!failure.body.contains("secret"))
    }

    @Test func anInvalidBodyIsReportedWithThePath() async throws {
        let reply = try await site().answer(.post, "/greetings/tell", "[1]")
        #expect(reply.status == 400)
        #expect(reply.body.contains("The body has the wrong structure: 0: Expected"))
    }

    @Test func eventsReachTheBroker() async throws {
        let site = try await site()
        _ = try await site.answer(.post, "/greetings/tell", #"["hi"]"#)
        let events = await site.events()
        #expect(events.map(\.name) == ["hello"])
        #expect(events.map(\.channel) == ["greetings"])
        #expect(events.map(\.data) == ["hi"])
    }
}
