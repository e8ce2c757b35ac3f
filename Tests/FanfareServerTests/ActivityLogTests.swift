import Broker
import BrokerConfiguration
import Logging
import PusherProtocol
import Testing

@testable import FanfareServer
@testable import Gateway
@testable import Observability
@testable import Shard

@Suite("The log of what the broker does") struct ActivityLogTests {
    /// Runs a broker with a log of these levels.
    private func run(
        from level: Logger.Level,
        _ change: (inout Configuration) -> Void = { _ in },
        _ body: (TestBroker, LogLines) async throws -> Void
    ) async throws {
        let lines = LogLines()
        try await TestBroker.run(log: lines.logger(from: level), change) {
            try await body($0, lines)
        }
    }

    /// The line that begins with a text and has all of these fields.
    private func expect(_ lines: LogLines, _ start: String, _ fields: String...) async throws {
        try await eventually {
            lines.all.contains { line in
                line.hasPrefix(start) && fields.allSatisfy(line.contains)
            }
        }
    }

    // MARK: - Refusals

    @Test("A client with an unknown key: who, why and what to do")
    func unknownKey() async throws {
        try await run(from: .info) { broker, lines in
            try await broker.expectRefusal(4001, target: "/app/wrong-key?protocol=7")
            try await expect(
                lines,
                "info connection refused",
                "address=127.0.0.1:",
                "code=4001",
                "key=wrong-key",
                "reason=Application does not exist",
                "advice=connect with the key of an app (apps.N.key)"
            )
        }
    }

    @Test("A refused subscription: connection, channel, reason and what to sign with")
    func subscriptions() async throws {
        try await run(from: .info) { broker, lines in
            let (client, socketID) = try await broker.connected()
            try client.send(
                #"{"event":"pusher:subscribe","data":{"channel":"private-x","auth":"app-key:0"}}"#
            )
            #expect(try await client.nextText().contains("subscription_error"))
            try await expect(
                lines,
                "info subscription refused",
                "address=127.0.0.1:",
                "app=1",
                "channel=private-x",
                "code=401",
                "socket=\(socketID)",
                "reason=Invalid signature: Expected HMAC SHA256 hex digest of \(socketID):private-x",
                "advice=the backend's authorization endpoint must sign"
            )
        }
    }

    @Test("A subscription refused by a limit names its key")
    func limits() async throws {
        try await run(from: .info) {
            $0.apps[0].limits.subscriptionsMax = 1
        } _: { broker, lines in
            let (client, _) = try await broker.connected()
            try await client.subscribe(to: "a")
            try client.send(#"{"event":"pusher:subscribe","data":{"channel":"b"}}"#)
            #expect(try await client.nextText().contains("subscription_error"))
            try await expect(
                lines,
                "info subscription refused",
                "channel=b",
                "advice=raise apps.N.subscriptions_max"
            )
        }
    }

    @Test func signIns() async throws {
        try await run(from: .info) { broker, lines in
            let (client, socketID) = try await broker.connected()
            try client.send(signInMessage(#"{"id":"ann"}"#, socketID: socketID, secret: "wrong"))
            #expect(try await client.nextText().contains("pusher:error"))
            try await expect(
                lines,
                "info sign-in refused",
                "code=4009",
                "socket=\(socketID)",
                "reason=Invalid signature"
            )
        }
    }

    @Test("A client event that the app's features do not allow")
    func messages() async throws {
        try await run(from: .info) {
            $0.apps[0].features.clientEvents = false
        } _: { broker, lines in
            let (client, socketID) = try await broker.subscribed(to: "private-x")
            try client.publish("client-x", "private-x", json: "1")
            #expect(try await client.nextText().contains("features.client_events"))
            try await expect(
                lines,
                "info message refused",
                "socket=\(socketID)",
                "features.client_events"
            )
        }
    }

    @Test("A request with a wrong key or secret, or to another app")
    func requests() async throws {
        try await run(from: .info) { broker, lines in
            let body = #"{"name":"e","channel":"a","data":"1"}"#
            let wire = try Wire(port: broker.port)
            var request = SignedRequest(path: "/apps/1/events", body: body)
            request.secret = "wrong"
            #expect(try await wire.ask(request).status == 401)
            try await expect(
                lines,
                "info request refused",
                "address=127.0.0.1:",
                "code=401",
                "request=POST /apps/1/events",
                "reason=Invalid signature",
                "advice=compare the backend's app ID, key and secret with apps.N"
            )
            request.key = "wrong-key"
            #expect(try await wire.ask(request).status == 401)
            try await expect(lines, "info request refused", "reason=Unknown auth_key")
            #expect(try await wire.ask(SignedRequest(path: "/apps/9/events")).status == 404)
            try await expect(lines, "info request refused", "code=404", "/apps/9/events")
        }
    }

    @Test("An event over the limit names app and key")
    func tooLong() async throws {
        try await run(from: .info) {
            $0.apps[0].limits.texts.dataLengthMax = 10
        } _: { broker, lines in
            let answer = try await broker.trigger("e", "12345678901", on: "a")
            #expect(answer.status == 413)
            try await expect(
                lines,
                "info request refused",
                "app=1",
                "code=413",
                "advice=raise apps.N.event_data_length_max"
            )
        }
    }

    @Test("Behind a trusted proxy the address is the client's")
    func proxies() async throws {
        try await run(from: .info) { broker, lines in
            let client = try await WebSocketWire(
                port: broker.port,
                target: "/app/wrong-key?protocol=7",
                fields: "X-Forwarded-For: 203.0.113.7\r\n"
            )
            #expect(try await client.nextText().contains("4001"))
            try await expect(lines, "info connection refused", "address=203.0.113.7 ")
        }
    }

    @Test("Ten lines a second of each kind; the next says how many were left out")
    func pace() {
        let lines = LogLines()
        let log = ActivityLog(lines.logger(from: .info), registry: AppRegistry([.development]))
        for _ in 0..<500 { log.observe(.refused(Refusal(.request, reason: "a")), of: nil) }
        // At most two seconds have passed.
        #expect((10...20).contains(lines.all.count))
        log.observe(.refused(Refusal(.subscription, reason: "b")), of: nil)
        #expect(lines.all.last == "info subscription refused reason=b")
    }

    // MARK: - Activity

    @Test("At debug level: connections, subscriptions and events")
    func debug() async throws {
        try await run(from: .debug) { broker, lines in
            let target = "/app/app-key?protocol=7&client=js&version=8.4.0"
            let client = try await WebSocketWire(port: broker.port, target: target)
            let socketID = try await client.socketID()
            try client.send(subscribeMessage(to: "private-x", socketID: socketID))
            _ = try await client.nextText()
            _ = try await broker.trigger("e", "123", on: "private-x")
            try client.publish("client-x", "private-x", json: #""12""#)
            try client.send(#"{"event":"pusher:unsubscribe","data":{"channel":"private-x"}}"#)
            try await expect(
                lines,
                "debug client connected",
                "address=127.0.0.1:",
                "app=1",
                "library=js 8.4.0",
                "socket=\(socketID)"
            )
            try await expect(lines, "debug subscribed", "channel=private-x", "socket=\(socketID)")
            try await expect(
                lines,
                "debug event published",
                "bytes=3",
                "channel=private-x",
                "event=e"
            )
            try await expect(
                lines,
                "debug client event published",
                "bytes=2",
                "event=client-x",
                "socket=\(socketID)"
            )
            try await expect(lines, "debug unsubscribed", "socket=\(socketID)")
            client.wire.reset()
            try await expect(lines, "debug client disconnected", "socket=\(socketID)")
            #expect(!lines.all.contains { $0.hasPrefix("trace") })
        }
    }

    @Test(
        "At trace level: frames from clients, to one, and to all of a channel",
        arguments: [1, 3]
    )
    func trace(loops: Int) async throws {
        let lines = LogLines()
        try await TestBroker.run(loops: loops, log: lines.logger(from: .trace)) { broker in
            let (client, socketID) = try await broker.connected()
            try await client.subscribe(to: "news")
            _ = try await broker.trigger("e", "123", on: "news")
            _ = try await client.nextText()
            try await expect(
                lines,
                "trace received",
                #"frame={"event":"pusher:subscribe""#,
                "socket=\(socketID)"
            )
            try await expect(lines, "trace sent", "pusher_internal:subscription_succeeded")
            try await expect(
                lines,
                "trace fanned out",
                "channel=news",
                #""event":"e""#,
                "subscribers=1"
            )
        }
    }

    @Test("The log has no secret and no valid signature, also of those who mix them up")
    func secrets() async throws {
        try await run(from: .trace) { broker, lines in
            let (client, socketID) = try await broker.connected()
            // In place of the key, of the signature, and inside a name.
            try await broker.expectRefusal(4001, target: "/app/app-secret?protocol=7")
            for auth in ["app-secret:1", "app-key:app-secret"] {
                try client.send(
                    #"{"event":"pusher:subscribe","data":{"channel":"private-x","auth":"\#(auth)"}}"#
                )
                #expect(try await client.nextText().contains("subscription_error"))
                _ = try await client.nextText()
            }
            var request = SignedRequest(path: "/apps/1/events", body: "{}")
            request.parameters = [("note", "app-secret")]
            request.secret = "wrong"
            let wire = try Wire(port: broker.port)
            #expect(try await wire.ask(request).status == 401)
            request.key = "app-secret"
            #expect(try await wire.ask(request).status == 401)
            // Valid ones, also in an object inside a string.
            let message = subscribeMessage(to: "private-x", socketID: socketID)
            try client.send(message)
            #expect(try await client.nextText().contains("subscription_succeeded"))
            try await client.signIn(as: "ann", socketID: socketID)
            try client.publish("client-x", "private-x", json: #""{\"auth\":\"app-secret\"}""#)
            try await expect(lines, "debug client event published", "channel=private-x")
            for start in ["info subscription", "info request", "info connection", "trace received"]
            {
                try await expect(lines, start)
            }
            let signature = try #require(message.firstMatch(of: /app-key:([0-9a-f]{64})/)).1
            for line in lines.all {
                #expect(!line.contains("app-secret"))
                #expect(!line.contains(signature))
            }
            try await expect(lines, "info connection refused", "key=(the secret of an app)")
            try await expect(lines, "trace received", #""auth":"(signature)""#)
        }
    }

    // MARK: - Cost

    private static let debugKinds: BrokerEventKinds = [
        .refusals, .connections, .admissions, .signIns, .subscriptions, .published, .clientEvents,
    ]

    @Test(
        "What the level leaves out is not observed",
        arguments: [
            (Logger.Level.warning, BrokerEventKinds()),
            (Logger.Level.info, BrokerEventKinds.refusals),
            (Logger.Level.debug, debugKinds), (Logger.Level.trace, debugKinds.union(.frames)),
        ] as [(Logger.Level, BrokerEventKinds)]
    )
    func levels(level: Logger.Level, kinds: BrokerEventKinds) {
        let lines = LogLines()
        let log = ActivityLog(lines.logger(from: level), registry: AppRegistry([.development]))
        #expect(log.observedKinds(of: AppID("1")) == kinds)
        #expect(log.observedKinds(of: nil) == kinds.intersection(.refusals))
    }
}

@Suite("Frames in the log") struct FrameTextTests {
    @Test(
        "Signatures are left out, however the object is written",
        arguments: [
            (#"{"auth":"k:1","x":2}"#, #"{"auth":"(signature)","x":2}"#),
            (#"{"auth" : "k:1"}"#, #"{"auth" : "(signature)"}"#),
            (#"{"data":"{\"auth\":\"k:1\"}"}"#, #"{"data":"{\"auth\":\"(signature)\"}"}"#),
            (#"{"auth":"","b":"auth"}"#, #"{"auth":"","b":"auth"}"#),
            (#"{"author":"ann"}"#, #"{"author":"ann"}"#),
            (#"{"auth":"#, #"{"auth":"#),
        ]
    )
    func signatures(frame: String, shown: String) { #expect(FrameText.shown(frame) == shown) }

    @Test func longFramesAreCut() {
        let shown = FrameText.shown(String(repeating: "é", count: 2_000))
        #expect(shown.hasSuffix("é… (4000 bytes)"))
        #expect(shown.count < 1_100)
    }

    @Test(
        "A server's frames",
        arguments: [
            ([0x81, 2, 0x68, 0x69], "hi"), ([0xC1, 2, 1, 2], "(2 compressed bytes)"),
            ([0x88, 0], "(close)"), ([0x89, 0], "(ping)"), ([0x8A, 0], "(pong)"), ([], ""),
            ([0x81], ""), ([0x82, 1, 0], "(1 bytes)"),
        ] as [([UInt8], String)]
    )
    func frames(bytes: [UInt8], text: String) {
        #expect(WebSocketTransport.text(of: bytes) == text)
    }
}
