import Broker
import BrokerConfiguration
import Logging
import Net
import Testing

@testable import Console
@testable import FanfareServer
@testable import Gateway
@testable import Shard

@Suite("The console with a password") struct ConsoleSignInTests {
    private static let password = "a-long-password"

    private func run(
        _ lines: LogLines = LogLines(),
        _ body: (TestBroker, ConsoleClient) async throws -> Void
    ) async throws {
        try await TestBroker.run(
            loops: 2,
            log: lines.logger(from: .info),
            { configuration in
                configuration.apps = [AppConfiguration(id: "7", key: "key", secret: "secret")]
                configuration.console.port = 0
                configuration.console.password = Self.password
            }
        ) { broker in
            try await body(broker, ConsoleClient(port: broker.consolePort))
        }
    }

    private func signIn(_ console: ConsoleClient, _ password: String) async throws -> Answer {
        try await console.request(
            "POST",
            "/console/login",
            fields: "",
            body: "password=\(password)"
        )
    }

    @Test func isOnAListenerOfItsOwn() async throws {
        try await run { broker, console in
            #expect(try await ConsoleClient(port: broker.port).request("GET", "/").status == 404)
            let page = try await console.request("GET", "/", host: "any.test")
            #expect(page.status == 200 && page.body.contains("name=\"password\""))
            for path in ["/console/session", "/console/samples", "/console/apps/7/channels"] {
                let answer = try await console.request("GET", path)
                #expect(answer.status == 401, "\(path)")
            }
            // Neither the API nor the clients of apps are served here.
            #expect(try await console.request("GET", "/apps/7/channels").status == 404)
            #expect(try await console.request("GET", "/health").status == 404)
            let wire = try Wire(port: broker.consolePort)
            try wire.send(WebSocketWire.upgrade(target: "/app/key?protocol=7"))
            #expect(try await wire.answer().status == 404)
        }
    }

    @Test func whoKnowsThePasswordSeesWhatHappens() async throws {
        try await run { broker, console in
            let answer = try await signIn(console, Self.password)
            #expect(answer.status == 303)
            #expect(answer.head.contains("HttpOnly; SameSite=Strict"))
            let match = try #require(answer.head.firstMatch(of: /fanfare_console=([0-9a-f]{64});/))
            var console = console
            console.cookie = String(match.1)
            let session = try await console.session()
            #expect(session.hasPassword && !session.payloads)
            #expect(session.apps.map(\.id) == ["7"] && session.apps[0].secret == nil)
            let page = try await console.subscribed()
            try await eventually { await broker.server.shards[0].isObserved(.published) }
            let body = #"{"name":"new","channels":["news"],"data":"1"}"#
            let sent = try await console.request("POST", "/console/apps/7/events", body: body)
            #expect(sent.status == 200)
            let event = try await ConsoleClient.record(on: page) { $0.kind == "event" }
            #expect(event.event == "new" && event.data == nil && event.length == 1)

            #expect(try await console.request("POST", "/console/logout").status == 200)
            #expect(try await console.request("GET", "/console/session").status == 401)
        }
    }

    @Test("The log has sign-ins with the number of the session, and actions under that number")
    func actionsHaveAnActor() async throws {
        let lines = LogLines()
        try await run(lines) { broker, console in
            for number in 1...2 {
                let answer = try await signIn(console, Self.password)
                let cookie = try #require(
                    answer.head.firstMatch(of: /fanfare_console=([0-9a-f]{64});/)
                )
                var console = console
                console.cookie = String(cookie.1)
                let path = "/console/apps/7/events"
                let body = #"{"name":"e","channels":["c"],"data":"1"}"#
                #expect(try await console.request("POST", path, body: body).status == 200)
                #expect(try await console.request("POST", "/console/logout").status == 200)
                for start in [
                    "info console: signed in", "notice console: request method=POST path=\(path)",
                    "info console: signed out",
                ] {
                    #expect(
                        lines.all.contains {
                            $0.hasPrefix(start) && $0.contains("peer=127.0.0.1:")
                                && $0.contains("session=\(number)")
                        },
                        "\(start)"
                    )
                }
                #expect(!lines.all.contains { $0.contains(cookie.1) })
            }
        }
    }

    @Test("Five wrong passwords in a minute are answered, then not even the right one is")
    func failuresAreLimited() async throws {
        try await run { _, console in
            for _ in 0..<5 {
                let answer = try await signIn(console, "wrong")
                #expect(answer.status == 401 && answer.body.contains("The password is wrong."))
                #expect(!answer.head.contains("Set-Cookie"))
            }
            let answer = try await signIn(console, Self.password)
            #expect(answer.status == 429 && answer.body.contains("wait for a minute"))
        }
    }

    @Test func anotherAddressIsNotLockedOutAndTheMinuteEnds() throws {
        var configuration = Configuration()
        configuration.console.password = Self.password
        let sessions = ConsoleSessions(configuration)
        let start = MonotonicTime.current
        let one = ClientAddress(try #require(SocketAddress(ip: "10.0.0.1", port: 1)))
        let other = ClientAddress(try #require(SocketAddress(ip: "10.0.0.2", port: 1)))
        for _ in 0..<5 {
            #expect(sessions.signIn("", from: one, at: start) == .wrongPassword)
        }
        #expect(sessions.signIn(Self.password, from: one, at: start) == .tooManyFailures)
        guard case .accepted = sessions.signIn(Self.password, from: other, at: start) else {
            Issue.record("another address is refused")
            return
        }
        let later = start.advanced(by: .seconds(61))
        guard case .accepted = sessions.signIn(Self.password, from: one, at: later) else {
            Issue.record("the minute did not end")
            return
        }
    }

    @Test("Wrong passwords from other addresses lock out nobody")
    func otherAddressesLockOutNobody() throws {
        var configuration = Configuration()
        configuration.console.password = Self.password
        let sessions = ConsoleSessions(configuration)
        let start = MonotonicTime.current
        func address(_ number: Int) throws -> ClientAddress {
            let ip = "10.\(number >> 16).\(number >> 8 & 255).\(number & 255)"
            let socket = try #require(SocketAddress(ip: ip, port: 1))
            return try #require(ClientAddress(socket))
        }
        // More than the addresses that are counted.
        for number in 1...5_000 {
            #expect(sessions.signIn("", from: try address(number), at: start) == .wrongPassword)
        }
        guard case .accepted = sessions.signIn(Self.password, from: try address(0), at: start)
        else {
            Issue.record("the right password is refused")
            return
        }
    }

    private func signedIn(_ console: ConsoleClient) async throws -> ConsoleClient {
        let answer = try await signIn(console, Self.password)
        let match = try #require(answer.head.firstMatch(of: /fanfare_console=([0-9a-f]{64});/))
        var console = console
        console.cookie = String(match.1)
        return console
    }

    @Test("The feed ends with the session: the page's connection is closed")
    func theFeedEndsWithTheSession() async throws {
        try await run { broker, console in
            let console = try await signedIn(console)
            let other = try await signedIn(console)
            let page = try await console.subscribed()
            let kept = try await other.subscribed()
            #expect(try await console.request("POST", "/console/logout").status == 200)
            var frame = try await page.next()
            while frame.closeCode == nil { frame = try await page.next() }
            #expect(frame.closeCode == 4200)
            _ = try await kept.nextText()
        }
    }

    @Test("The key of the page is of no use at the port of clients")
    func theKeyIsOfTheListenerAlone() async throws {
        try await run { broker, console in
            let key = try await signedIn(console).session().key
            let client = try await WebSocketWire(
                port: broker.port,
                target: "/app/\(key)?protocol=7"
            )
            #expect(try await client.nextText().contains(#""code":4001"#))
            #expect(try await client.next().closeCode == 4001)
        }
    }

    @Test(
        "Without console.payloads no request of the console shows the data of events",
        arguments: [
            ("GET", "channels/cache-x?info=cache"), ("GET", "channels?info=cache"),
            ("GET", "channels/x/history"), ("POST", "traces"), ("GET", "traces/1"),
        ]
    )
    func hidesData(method: String, path: String) async throws {
        try await run { _, console in
            let console = try await signedIn(console)
            let answer = try await console.request(method, "/console/apps/7/\(path)")
            #expect(answer.status == 403)
            #expect(answer.body.contains("console.payloads"))
            let state = try await console.request("GET", "/console/apps/7/channels/cache-x")
            #expect(state.status == 200)
        }
    }

    @Test(arguments: ["", "fanfare_console=", "fanfare_console=0000", "other=1"])
    func aForgedCookieIsRefused(cookie: String) async throws {
        try await run { _, console in
            let fields = "X-Fanfare-Console: 1\r\nCookie: \(cookie)\r\n"
            let answer = try await console.request("GET", "/console/session", fields: fields)
            #expect(answer.status == 401)
        }
    }
}
