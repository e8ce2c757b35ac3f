import Glibc
import Net
import RESP
import Redis
import TestPorts
import TestRedis
import Testing

@Suite("A real Redis server") struct RedisServerTests {
    @Test func answersThroughAUnixSocket() throws {
        let redis = try RedisProcess()
        let live = try LiveRedis.opened(redis)
        let server = try #require(live.owner.server)
        #expect(server.mode == .standalone && server.isPrimary)
        let versions = server.product == "valkey" ? ["7.2", "8.", "9."] : ["7.", "8."]
        #expect(versions.contains { server.version.hasPrefix($0) }, "\(server.version)")
        #expect(server.runID != nil && server.clientID > 0)
        #expect(try live.call("SET", "a", "x\r\n\0y") == .text(.simpleString, "OK"))
        #expect(try live.call("GET", "a") == .bulk("x\r\n\0y"))
        #expect(try live.call("GET", "b") == .null)
        #expect(try live.call("HGETALL", "b") == .list(.map, []))
        #expect(live.connection.lastRoundTrip != nil)
    }

    @Test func answersThroughTCPAndTLS() throws {
        let (certificate, key) = try DevelopmentCertificate.make(hosts: ["localhost"])
        let (plain, secure) = (freePort(), freePort())
        let redis = try RedisProcess(
            [
                "--port", "\(plain)", "--bind", "127.0.0.1", "--tls-port", "\(secure)",
                "--tls-cert-file", "certificate.pem", "--tls-key-file", "key.pem",
                "--tls-auth-clients", "no",
            ],
            files: ["certificate.pem": certificate, "key.pem": key]
        )
        defer { redis.stop() }
        let trust = try TLSContext.client(trust: .pem(certificate))
        let urls = [
            "redis://127.0.0.1:\(plain)", "redis://localhost:\(plain)",
            "rediss://localhost:\(secure)/0",
        ]
        for url in urls {
            let live = try LiveRedis(RedisURL(url), tls: trust)
            live.run { !live.owner.events.isEmpty }
            #expect(live.owner.events == [.opened], "\(url)")
            #expect(try live.call("PING") == .text(.simpleString, "PONG"))
        }
        // Another certificate, and another host.
        let other = try TLSContext.client(
            trust: .pem(DevelopmentCertificate.make(hosts: ["localhost"]).certificatePEM)
        )
        for (host, tls) in [("localhost", other), ("127.0.0.1", trust)] {
            let untrusting = try LiveRedis(RedisURL("rediss://\(host):\(secure)"), tls: tls)
            untrusting.run { untrusting.owner.fault != nil }
            #expect(untrusting.owner.fault?.reason == "tls")
        }
    }

    @Test func namesAHostThatCannotBeResolved() throws {
        let live = try LiveRedis(RedisURL("redis://no-such-host.invalid"))
        live.run { live.owner.fault != nil }
        #expect(live.owner.fault?.reason == "name")
        #expect(live.owner.fault?.description.contains("no-such-host.invalid") == true)
        #expect(live.owner.events.count == 1)
    }

    @Test func canBeClosedWhileTheNameIsLookedUp() throws {
        let live = try LiveRedis(RedisURL("redis://no-such-host.invalid"))
        live.connection.close()
        #expect(live.owner.events.isEmpty)
        live.run { live.owner.fault != nil }
        #expect(live.owner.events == [.closed(.closedByOwner, unanswered: 1..<1)])
        live.run { live.reactor.timerCount == 0 }
    }

    @Test func takesTheCredentialsOfTheAddress() throws {
        let redis = try RedisProcess(["--requirepass", "a b/c"])
        defer { redis.stop() }
        let url = try RedisURL("redis+unix://:a%20b%2Fc@\(redis.socket)")
        let live = try LiveRedis(url, RedisSettings(password: "another one"))
        live.run { !live.owner.events.isEmpty }
        #expect(live.owner.events == [.opened])
    }

    @Test func authenticates() throws {
        let redis = try RedisProcess([
            "--requirepass", "of the default user", "--user", "fanfare", "on", ">its own", "~*",
            "&*", "+@all",
        ])
        let settings = [
            (RedisSettings(password: "of the default user"), nil),
            (RedisSettings(username: "fanfare", password: "its own", clientName: "web-1"), nil),
            (RedisSettings(password: "wrong"), RedisError.Code.wrongPassword),
            (RedisSettings(), .noAuthentication),
        ]
        for (settings, code) in settings {
            let live = try LiveRedis(redis, settings)
            live.run { !live.owner.events.isEmpty }
            if case .refused(let error) = live.owner.fault {
                #expect(error.code == code)
            } else {
                #expect(live.owner.events == [.opened] && code == nil)
                if let name = settings.clientName {
                    #expect(try live.call("CLIENT", "GETNAME") == .bulk(name))
                }
            }
        }
    }

    @Test func pushesMessagesInTheOrderOfExecution() throws {
        let redis = try RedisProcess()
        let live = try LiveRedis.opened(redis)
        let connection = live.connection
        try connection.subscribe(to: ["a", "b"])
        for number in 0..<1_000 {
            try connection.call("INCR", "n")
            try connection.call("PUBLISH", number % 2 == 0 ? "a" : "b", "\(number)")
        }
        try connection.unsubscribe(from: ["a", "b"])
        let last = try connection.call("PING")
        live.run { live.owner.events.last == .reply(last.number, .text(.simpleString, "PONG")) }
        // After the subscription come INCR, with even numbers, and PUBLISH by turns.
        var (executed, message) = (0, 0)
        for event in live.owner.events {
            switch event {
            case .reply(let number, _) where number.isMultiple(of: 2): executed = Int(number) / 2
            case .push(let push) where push.elements.first?.text == "message":
                message += 1
                #expect(push.elements.last?.text == "\(message - 1)")
                #expect(executed == message)
            default: break
            }
        }
        #expect(message == 1_000)
        #expect(live.connection.unansweredBytes == 0)
    }

    @Test func hasAnotherRunIDAfterARestart() throws {
        let ids = try (0..<2).map { _ in
            try LiveRedis.opened(RedisProcess()).owner.server?.runID
        }
        #expect(ids[0] != nil && ids[0] != ids[1])
    }

    @Test func endsWithTheServer() throws {
        let redis = try RedisProcess()
        let live = try LiveRedis.opened(redis)
        redis.stop()
        live.run { live.owner.fault != nil }
        #expect(live.owner.events == [.closed(.closedByServer, unanswered: 1..<1)])
        let late = try LiveRedis(redis)
        late.run { late.owner.fault != nil }
        #expect(late.owner.fault?.reason == "connection")
    }

    @Test func endsWhenTheServerBecomesAReplica() throws {
        let redis = try RedisProcess()
        let live = try LiveRedis.opened(redis, scripts: [Self.increment])
        #expect(try live.evaluate(Self.increment, ["a"], []) == .integer(1))
        try live.call("REPLICAOF", "127.0.0.1", "1")
        _ = live.owner.takeEvents()
        try live.connection.evaluate(Self.increment, keys: ["a"], [])
        live.run { live.owner.fault != nil }
        #expect(live.owner.fault?.reason == "readonly")
        let late = try LiveRedis(redis)
        late.run { !late.owner.events.isEmpty }
        #expect(late.owner.fault == .replica)
    }

    @Test func endsWhenTheScriptsAreGone() throws {
        let redis = try RedisProcess()
        let live = try LiveRedis.opened(redis, scripts: [Self.increment])
        try live.call("SCRIPT", "FLUSH")
        let call = try live.connection.evaluate(Self.increment, keys: ["a"], [])
        live.run { live.owner.fault != nil }
        #expect(live.owner.fault?.reason == "noscript")
        #expect(
            live.owner.events.last
                == .closed(
                    try #require(live.owner.fault),
                    unanswered: call.number..<(call.number + 1)
                )
        )
        // The next connection loads them again.
        #expect(
            try LiveRedis.opened(redis, scripts: [Self.increment]).evaluate(
                Self.increment,
                ["a"],
                []
            ) == .integer(1)
        )
    }

    private static let increment = RedisScript(
        name: "increment",
        source: Array("#!lua\nreturn redis.call('INCR', KEYS[1])".utf8)
    )

    @Test(
        "Refusals that the caller gets",
        arguments: [
            (["--maxmemory", "1"], RedisError.Code.outOfMemory),
            (["--min-replicas-to-write", "1"], .noReplicas),
        ]
    )
    func refuses(arguments: [String], code: RedisError.Code) throws {
        let redis = try RedisProcess(arguments)
        let live = try LiveRedis.opened(redis, scripts: [Self.increment])
        #expect(RedisError(try live.call("SET", "a", "1").text).code == code)
        #expect(RedisError(try live.evaluate(Self.increment, ["a"], []).text).code == code)
        #expect(try live.call("GET", "a") == .null)
    }
}
