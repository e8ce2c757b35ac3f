import Broker
import BrokerConfiguration
import Net
import TestFiles
import Testing

@testable import FanfareServer

@Suite("Connection policies of an app, Pusher protocol §3") struct AppPolicyTests {
    private func open(
        _ broker: TestBroker,
        _ target: String = "/app/app-key?protocol=7",
        origin: String? = nil
    ) async throws -> (code: Int?, text: String) {
        let fields = origin.map { "Origin: \($0)\r\n" } ?? ""
        let client = try await WebSocketWire(port: broker.port, target: target, fields: fields)
        let text = try await client.nextText()
        if text.contains("connection_established") { return (nil, text) }
        return (try await client.next().closeCode, text)
    }

    @Test("Pages of other origins are closed with 4009; other clients are admitted")
    func allowedOrigins() async throws {
        try await TestBroker.run {
            $0.apps[0].allowedOrigins = ["https://a.test", "https://*.b.test"]
        } _: { broker in
            for origin in [nil, "https://a.test", "https://x.b.test", "https://x.y.b.test"] {
                #expect(try await open(broker, origin: origin).code == nil, "\(origin ?? "none")")
            }
            for origin in ["http://a.test", "https://b.test", "https://a.test.evil.test", "null"] {
                let (code, text) = try await open(broker, origin: origin)
                #expect(code == 4009)
                #expect(
                    text
                        == #"{"event":"pusher:error","data":{"code":4009,"message":"The origin \"\#(origin)\" may not connect: it is not among the app's allowed origins"}}"#
                )
            }
        }
    }

    @Test func withoutAllowedOriginsPagesOfAllOriginsMayConnect() async throws {
        try await TestBroker.run { broker in
            let code = try await open(broker, origin: "https://anything.test").code
            #expect(code == nil)
        }
    }

    @Test("The first reason to refuse a client is the one it gets")
    func orderOfChecks() async throws {
        let pair = try TemporaryCertificate()
        try await TestBroker.run { configuration in
            configuration.tlsPort = 0
            configuration.certificates = [
                .init(certificate: pair.certificate.path, key: pair.key.path)
            ]
            var closed = AppConfiguration(id: "2", key: "closed", secret: "s")
            closed.isTLSOnly = true
            closed.isEnabled = false
            closed.allowedOrigins = ["https://a.test"]
            var disabled = AppConfiguration(id: "3", key: "disabled", secret: "s")
            disabled.isEnabled = false
            disabled.allowedOrigins = ["https://a.test"]
            var full = AppConfiguration(id: "4", key: "full", secret: "s")
            full.limits.connectionsMax = 1
            full.allowedOrigins = ["https://a.test"]
            configuration.apps += [closed, disabled, full]
        } _: { broker in
            let keep = try await WebSocketWire(port: broker.port, target: "/app/full?protocol=7")
            _ = try await keep.socketID()
            for (target, code) in [
                // 4000 takes precedence over other errors: official clients reconnect with TLS.
                ("/app/closed?protocol=7", 4000), ("/app/closed?protocol=3", 4000),
                ("/app/closed?protocol=x", 4000), ("/closed?protocol=7", 4005),
                ("/app/unknown?protocol=x", 4006), ("/app/unknown?protocol=3", 4007),
                ("/app/unknown?protocol=7", 4001), ("/app/disabled?protocol=3", 4007),
                ("/app/disabled?protocol=7", 4003), ("/app/full?protocol=7", 4009),
            ] {
                let refused = try await open(broker, target, origin: "https://evil.test")
                #expect(refused.code == code, "\(target)")
            }
            #expect(try await open(broker, "/app/full?protocol=7").code == 4004)
        }
    }
}

@Suite("Rates of an app") struct AppRateTests {
    private let query = SignedRequest(method: "GET", path: "/apps/1/channels")

    @Test(
        "Requests over the rate are answered with 429, and the connection stays",
        arguments: [1, 3]
    )
    func requests(loops: Int) async throws {
        try await TestBroker.run(loops: loops) {
            $0.apps[0].limits.requestRates.all = Rate(perSecond: 3)
        } _: { broker in
            // Several connections, which different loops may serve, share one rate.
            let wires = try (0..<4).map { _ in try Wire(port: broker.port) }
            var statuses: [Int] = []
            var refused: Answer?
            for number in 0..<40 {
                let answer = try await wires[number % 4].ask(query)
                statuses.append(answer.status)
                if answer.status == 429 { refused = answer }
            }
            #expect(statuses.prefix(3) == [200, 200, 200])
            #expect(Set(statuses) == [200, 429])
            let answer = try #require(refused)
            #expect(answer.head.lowercased().contains("\r\nretry-after: 1\r\n"))
            #expect(answer.body == "App 1 may make 3 requests a second: try again in a second\n")
            // The rate recovers over time.
            try await eventually { try await wires[0].ask(query).status == 200 }
        }
    }

    @Test("Requests with a wrong signature do not consume the app's rate")
    func unsignedRequests() async throws {
        try await TestBroker.run {
            $0.apps[0].limits.requestRates.all = Rate(perSecond: 1)
        } _: { broker in
            let wire = try Wire(port: broker.port)
            var forged = query
            forged.secret = "wrong"
            for _ in 0..<20 { #expect(try await wire.ask(forged).status == 401) }
            #expect(try await wire.ask(query).status == 200)
        }
    }

    @Test("Subscriptions over the rate are refused as LimitReached, and the connection stays")
    func subscriptions() async throws {
        try await TestBroker.run {
            $0.apps[0].limits.subscriptionRate = Rate(perSecond: 2)
        } _: { broker in
            let (client, _) = try await broker.connected()
            let (other, _) = try await broker.connected()
            for number in 0..<20 {
                try client.send(
                    #"{"event":"pusher:subscribe","data":{"channel":"c\#(number)"}}"#
                )
            }
            try client.send(#"{"event":"pusher:ping"}"#)
            var granted: [String] = []
            var refused = 0
            while case let text = try await client.nextText(), !text.contains("pusher:pong") {
                if text.contains("subscription_succeeded") { granted.append(text) }
                if text.contains("subscription_error") {
                    #expect(text.contains(#"\"type\":\"LimitReached\""#))
                    #expect(text.contains("A connection may subscribe to 2 channels a second"))
                    #expect(try await client.nextText().contains("pusher:error"))
                    refused += 1
                }
            }
            #expect(granted.first?.contains(#""channel":"c0""#) == true)
            #expect(granted.count >= 2)
            #expect(refused > 0)
            #expect(granted.count + refused == 20)
            // Each connection has a rate of its own.
            try await other.subscribe(to: "news")
        }
    }
}

@Suite("Several credentials of an app") struct AppCredentialTests {
    private static func run(_ body: (TestBroker) async throws -> Void) async throws {
        try await TestBroker.run(
            {
                $0.apps[0].credentials = [
                    .init(secret: "new-secret"), .init(key: "new-key", secret: "newest-secret"),
                ]
                $0.apps.append(
                    AppConfiguration(id: "2", key: "second-key", secret: "second-secret")
                )
            },
            body
        )
    }

    @Test(
        "Requests signed with any credential are accepted",
        arguments: [
            ("app-key", "app-secret", 200), ("app-key", "new-secret", 200),
            ("new-key", "newest-secret", 200), ("app-key", "newest-secret", 401),
            ("new-key", "app-secret", 401), ("second-key", "second-secret", 401),
        ]
    )
    func requests(key: String, secret: String, status: Int) async throws {
        try await Self.run { broker in
            let request = SignedRequest(
                method: "GET",
                path: "/apps/1/channels",
                key: key,
                secret: secret
            )
            let answer = try await Wire(port: broker.port).ask(request)
            #expect(answer.status == status)
        }
    }

    @Test(
        "Clients connect by any key, and subscribe with the signature of any",
        arguments: [
            "app-key", "new-key",
        ]
    )
    func subscriptions(key: String) async throws {
        try await Self.run { broker in
            let client = try await WebSocketWire(
                port: broker.port,
                target: "/app/\(key)?protocol=7"
            )
            let socketID = try await client.socketID()
            func subscribe(_ channel: String, _ key: String, _ secret: String) async throws -> Bool
            {
                let message = subscribeMessage(to: channel, socketID: socketID, secret: secret)
                try client.send(message.replacing("app-key:", with: key + ":"))
                if try await client.nextText().contains("subscription_succeeded") { return true }
                _ = try await client.nextText()
                return false
            }
            #expect(try await subscribe("private-1", "app-key", "app-secret"))
            #expect(try await subscribe("private-2", "app-key", "new-secret"))
            #expect(try await subscribe("private-3", "new-key", "newest-secret"))
            #expect(try await !subscribe("private-4", "new-key", "app-secret"))
            #expect(try await !subscribe("private-5", "second-key", "second-secret"))
        }
    }
}
