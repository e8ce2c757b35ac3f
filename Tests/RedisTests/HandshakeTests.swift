import Net
import RESP
import Redis
import Testing

@Suite("Handshake of Redis") struct HandshakeTests {
    private static let script = RedisScript(name: "one", source: Array("return 1".utf8))

    @Test func sendsAllCommandsAtOnce() throws {
        let redis = try ScriptedRedis(
            RedisSettings(
                username: "fanfare",
                password: "secret word",
                clientName: "web-1",
                scripts: [Self.script]
            )
        )
        #expect(
            redis.commands() == [
                "HELLO 3 AUTH fanfare secret word SETNAME web-1", "SCRIPT LOAD return 1",
                "INFO server replication",
            ]
        )
        #expect(redis.owner.events.isEmpty && !redis.connection.isOpen)
    }

    @Test func usesTheDefaultUserForAPassword() throws {
        let redis = try ScriptedRedis(RedisSettings(password: "p"))
        #expect(redis.commands().first == "HELLO 3 AUTH default p")
        #expect(try ScriptedRedis().commands() == ["HELLO 3", "INFO server replication"])
    }

    @Test func opensWhenAllIsAnsweredAtEverySplit() throws {
        let settings = RedisSettings(scripts: [Self.script])
        let answers = Array(
            (ScriptedRedis.hello() + ScriptedRedis.bulk(Self.script.digest) + ScriptedRedis.info())
                .utf8
        )
        for cut in stride(from: 1, to: answers.count, by: 7) {
            let redis = try ScriptedRedis(settings)
            redis.settle()
            redis.send(Array(answers[..<cut]))
            #expect(redis.owner.events.isEmpty)
            redis.send(Array(answers[cut...]))
            #expect(redis.owner.events == [.opened] && redis.connection.isOpen)
            let server = try #require(redis.owner.server)
            #expect(server.product == "redis" && server.version == "7.0.15")
            #expect(server.mode == .standalone && server.isPrimary && server.clientID == 9)
            #expect(server.runID == RunID(ScriptedRedis.runID))
        }
    }

    @Test(
        "Refuses a server that cannot be used",
        arguments: [
            (
                "-WRONGPASS invalid username-password pair\r\n",
                RedisFault.refused(RedisError("WRONGPASS invalid username-password pair"))
            ),
            ("-NOAUTH HELLO must be\r\n", .refused(RedisError("NOAUTH HELLO must be"))),
            (
                "-ERR unknown command 'HELLO'\r\n",
                .refused(RedisError("ERR unknown command 'HELLO'"))
            ),
            ("+OK\r\n", .handshake("HELLO")),
            (ScriptedRedis.hello(version: "6.2.7"), .version("6.2.7", least: "7.0")),
            (ScriptedRedis.hello(version: ""), .version("", least: "7.0")),
            (ScriptedRedis.hello(role: "replica"), .replica),
            (
                ScriptedRedis.hello() + "-LOADING Redis is loading\r\n",
                .refused(RedisError("LOADING Redis is loading"))
            ),
            (
                ScriptedRedis.hello() + "-ERR Error compiling script\r\n",
                .refused(RedisError("ERR Error compiling script"))
            ),
            (
                ScriptedRedis.hello() + ScriptedRedis.bulk("another digest"),
                .handshake("SCRIPT LOAD")
            ),
            (
                ScriptedRedis.hello() + ScriptedRedis.bulk(script.digest)
                    + ScriptedRedis.info(role: "slave"),
                .replica
            ),
            ("HTTP/1.1 400 Bad Request\r\n", .malformed(.unknownType(0x48))),
        ]
    )
    func refuses(answers: String, fault: RedisFault) throws {
        let redis = try ScriptedRedis(RedisSettings(scripts: [Self.script]))
        redis.settle()
        redis.send(answers)
        #expect(redis.owner.events == [.closed(fault, unanswered: 1..<1)])
    }

    @Test func acceptsAReplicaWhereNoneIsRequiredToBePrimary() throws {
        let redis = try ScriptedRedis(RedisSettings(requiresPrimary: false))
        redis.settle()
        redis.send(ScriptedRedis.hello(role: "replica") + ScriptedRedis.info(role: "slave"))
        #expect(redis.owner.events == [.opened])
        #expect(redis.owner.server?.isPrimary == false)
    }

    @Test func knowsNoProcessWhereInfoIsForbidden() throws {
        let redis = try ScriptedRedis()
        redis.settle()
        redis.send(ScriptedRedis.hello() + "-NOPERM no permission to run 'info'\r\n")
        #expect(redis.owner.events == [.opened])
        #expect(redis.owner.server?.runID == nil)
    }

    @Test func endsWithoutAnAnswerInTime() throws {
        let redis = try ScriptedRedis(RedisSettings(openTimeout: .seconds(2)))
        redis.wait(.milliseconds(1_990))
        redis.send(ScriptedRedis.hello())
        #expect(redis.owner.events.isEmpty)
        redis.wait(.milliseconds(20))
        #expect(redis.owner.fault == .openTimedOut(.seconds(2)))
    }

    @Test func allowsNoCallBefore() throws {
        let redis = try ScriptedRedis()
        redis.settle()
        #expect(throws: RedisCallError.notOpen) { try redis.connection.call("PING") }
        #expect(throws: RedisCallError.notOpen) { try redis.connection.subscribe(to: ["a"]) }
    }
}
