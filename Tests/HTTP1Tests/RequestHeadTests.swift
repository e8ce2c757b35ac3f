import HTTP1
import Testing

@Suite("Request heads") struct RequestHeadTests {
    @Test("Target forms, RFC 9112 §3.2") func targetForms() throws {
        let origin = try head("GET /a%20b/c?x=1?&y HTTP/1.1", "Host: h")
        #expect(origin.targetForm == .origin)
        #expect(origin.target == "/a%20b/c?x=1?&y")
        #expect(origin.path == "/a%20b/c")
        #expect(origin.query == "x=1?&y")
        #expect(origin.authority == "h")

        let bare = try head("GET / HTTP/1.1", "Host:")
        #expect(bare.query == nil)
        #expect(bare.authority == "")
        #expect(try head("GET /? HTTP/1.1", "Host: h").query == "")

        let absolute = try head("GET http://other:81/p?q HTTP/1.1", "Host: h")
        #expect(absolute.targetForm == .absolute)
        #expect(absolute.path == "/p")
        #expect(absolute.query == "q")
        #expect(absolute.authority == "other:81")
        let pathless = try head("GET http://other?q HTTP/1.1", "Host: h")
        #expect(pathless.path == "/")
        #expect(pathless.query == "q")
        #expect(pathless.target == "http://other?q")

        let asterisk = try head("OPTIONS * HTTP/1.1", "Host: h")
        #expect(asterisk.targetForm == .asterisk)
        #expect(asterisk.path == "*")

        let authority = try head("CONNECT h:443 HTTP/1.1", "Host: h")
        #expect(authority.targetForm == .authority)
        #expect(authority.path == "")
        #expect(authority.authority == "h:443")
    }

    @Test(
        "Path and query are lent together, of either form of target",
        arguments: [
            ("/p/x?q=1?2", "/p/x?q=1?2"), ("/", "/"), ("/?", "/?"), ("http://h:1/p?q", "/p?q"),
            ("http://h/", "/"), ("http://h", "/"), ("http://h?q", "/"),
        ]
    )
    func lendsPathAndQuery(target: String, lent: String) throws {
        let text = try head("GET \(target) HTTP/1.1", "Host: h").withPathAndQuery {
            $0.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        }
        #expect(text == lent)
    }

    @Test func enumeratesAllFieldsInOrder() throws {
        let request = try head("GET / HTTP/1.1", "Host: h", "A:  b c ", "a:", "X-Y: z")
        var lines: [String] = []
        request.forEachField { name, value in
            let text = { (bytes: Span<UInt8>) in
                bytes.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
            }
            lines.append("\(text(name))=\(text(value))")
        }
        #expect(lines == ["Host=h", "A=b c", "a=", "X-Y=z"])
    }

    @Test func acceptsBrowsersCharactersInAQuery() throws {
        let request = try head("GET /?channels[]=a|b&c={`^\\} HTTP/1.1", "Host: h")
        #expect(request.query == "channels[]=a|b&c={`^\\}")
    }

    @Test(arguments: ["h", "h:80", "h:", "127.0.0.1:6001", "[::1]", "[::1]:80", "a-b_c.d~", ""])
    func takesHost(_ host: String) throws {
        #expect(try head("GET / HTTP/1.1", "Host: \(host)").authority == host)
    }

    @Test(arguments: [
        ("GET", Method.get), ("HEAD", .head), ("POST", .post), ("PUT", .put), ("DELETE", .delete),
        ("OPTIONS", .options), ("TRACE", .trace), ("PATCH", .patch), ("get", .other("get")),
        ("M-SEARCH", .other("M-SEARCH")), ("GE", .other("GE")), ("!#$%&'*+-.^_`|~9", nil),
    ])
    func readsMethod(name: String, method: Method?) throws {
        let read = try head("\(name) / HTTP/1.1", "Host: h").method
        #expect(read == method ?? .other(name))
        #expect(read.description == name)
        #expect(Method(name) == read)
    }

    @Test(
        "Persistence, RFC 9112 §9.3",
        arguments: [
            ("HTTP/1.1", nil, true), ("HTTP/1.1", "close", false), ("HTTP/1.1", "keep-alive", true),
            ("HTTP/1.1", "Upgrade, CLOSE", false), ("HTTP/1.1", "closed", true),
            ("HTTP/1.0", nil, false), ("HTTP/1.0", "Keep-Alive", true),
            ("HTTP/1.0", "keep-alive, close", false), ("HTTP/1.9", nil, true),
        ]
    )
    func keepsAlive(version: String, connection: String?, keepsAlive: Bool) throws {
        let field = connection.map { "Connection: \($0)" } ?? "X: y"
        #expect(try head("GET / \(version)", "Host: h", field).keepAlive == keepsAlive)
    }

    @Test("Options over several lines, RFC 9110 §5.3") func joinsConnection() throws {
        let request = try head(
            "GET / HTTP/1.1",
            "Host: h",
            "Connection: keep-alive",
            "Upgrade: websocket",
            "Connection: ,\tUpgrade ,"
        )
        #expect(request.isUpgrade)
        #expect(request.keepAlive)
        #expect(request.field("connection", contains: "upgrade"))
        #expect(request.field("connection", contains: "keep-alive"))
        #expect(!request.field("connection", contains: "close"))
        #expect(!request.field("nowhere", contains: "close"))
    }

    @Test(
        "Upgrade, RFC 9110 §7.8",
        arguments: [
            ("HTTP/1.1", "Connection: upgrade", "Upgrade: websocket", true),
            ("HTTP/1.1", "Connection: close", "Upgrade: websocket", false),
            ("HTTP/1.1", "Connection: upgrade", "X: y", false),
            ("HTTP/1.0", "Connection: upgrade", "Upgrade: websocket", false),
        ]
    )
    func upgrades(version: String, connection: String, upgrade: String, isUpgrade: Bool) throws {
        let request = try head("GET / \(version)", "Host: h", connection, upgrade)
        #expect(request.isUpgrade == isUpgrade)
    }

    @Test(
        "The protocols of Upgrade, over one line or several",
        arguments: [
            (["Upgrade: WebSocket"], true), (["Upgrade: h2c, , websocket"], true),
            (["Upgrade: h2c", "Upgrade: websocket"], true),
            (["Upgrade: websocket", "Upgrade: h2c"], true),
            (["Upgrade: h2c"], false), (["Upgrade: websocket/13"], false), (["Upgrade:"], false),
            (["Upgrade: h2c", "Upgrade: h3"], false), (["X: websocket"], false),
        ]
    )
    func upgradesTo(lines: [String], isWebSocket: Bool) throws {
        let text = ["GET / HTTP/1.1", "Host: h", "Connection: upgrade"] + lines
        #expect(try head(text.joined(separator: "\r\n")).isUpgrade(to: "websocket") == isWebSocket)
    }

    @Test func upgradesToNothingWithoutTheOption() throws {
        let request = try head("GET / HTTP/1.1", "Host: h", "Upgrade: websocket")
        #expect(!request.isUpgrade(to: "websocket"))
    }

    @Test("Expect, RFC 9110 §10.1.1") func expects() throws {
        func expects(_ lines: String...) throws -> Bool {
            try head(lines[0], "Host: h", lines[1], lines[2]).expectsContinue
        }
        #expect(try expects("POST / HTTP/1.1", "Content-Length: 1", "Expect: 100-Continue"))
        #expect(try expects("POST / HTTP/1.1", "Transfer-Encoding: CHUNKED", "Expect:100-continue"))
        #expect(try !expects("POST / HTTP/1.1", "Content-Length: 0", "Expect: 100-continue"))
        #expect(try !expects("POST / HTTP/1.1", "Content-Length: 1", "X: 100-continue"))
        #expect(try !expects("POST / HTTP/1.0", "Content-Length: 1", "Expect: 100-continue"))
    }

    @Test func returnsFields() throws {
        let request = try head(
            "GET / HTTP/1.1",
            "Host: h",
            "X-One:  a b \t",
            "x-two:",
            "X-ONE: ç"
        )
        #expect(request.field("x-one") == "a b")
        #expect(request.field("X-One") == "a b")
        #expect(request.fields("x-one") == ["a b", "ç"])
        #expect(request.field("x-two") == "")
        #expect(request.field("x-three") == nil)
        #expect(request.fields("x-three") == [])
        #expect(request.fieldCount == 4)
        #expect(
            request.fields
                == [
                    Field("Host", "h"), Field("X-One", "a b"), Field("x-two", ""),
                    Field("X-ONE", "ç"),
                ]
        )
    }

    @Test func passesSpans() throws {
        let request = try head("POST /apps/1/events?a=b HTTP/1.1", "Host: h", "Content-Type: x/y")
        #expect(request.withField("content-type") { $0.count } == 3)
        #expect(request.withField("content-typo") { $0.count } == nil)
        #expect(request.withPath { $0.count } == 14)
        #expect(request.withQuery { $0.count } == 3)
        #expect(request.withTarget { $0.count } == 18)
        #expect(request.hasPath("/apps/1/events"))
        #expect(!request.hasPath("/apps/1/event"))
        #expect(request.hasPathPrefix("/apps/"))
        #expect(!request.hasPathPrefix("/app/"))
        #expect(!request.hasPathPrefix("/apps/1/events/and/more"))
    }

    @Test func comparesNamesWithoutMixingUpTokens() throws {
        // "^" and "~" differ in the bit that makes a letter lower-case.
        let request = try head("GET / HTTP/1.1", "Host: h", "X^: a", "X~: b")
        #expect(request.field("x~") == "b")
        #expect(request.field("x^") == "a")
    }
}
