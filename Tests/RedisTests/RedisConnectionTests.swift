import Net
import RESP
import Redis
import TestRedis
import Testing

@Suite("Connections to Redis") struct RedisConnectionTests {
    @Test func passesOnRepliesAndPushesInTheirOrder() throws {
        let redis = try ScriptedRedis.opened()
        #expect(try redis.connection.call("GET", "a").number == 1)
        #expect(try redis.connection.call("GET", "b").number == 2)
        #expect(redis.commands() == ["GET a", "GET b"])
        let bytes = ":1\r\n>3\r\n+message\r\n+c\r\n+x\r\n-ERR no\r\n>2\r\n+invalidate\r\n_\r\n"
        let expected: [Owner.Event] = [
            .reply(1, .integer(1)),
            .push(.list(.push, ["message", "c", "x"].map { .text(.simpleString, $0) })),
            .reply(2, .text(.simpleError, "ERR no")),
            .push(.list(.push, [.text(.simpleString, "invalidate"), .null])),
        ]
        for byte in bytes.utf8 { redis.send([byte]) }
        #expect(redis.owner.events == expected)
        #expect(redis.connection.unansweredBytes == 0)
    }

    @Test func namesTheUnansweredCallsAtTheEnd() throws {
        let redis = try ScriptedRedis.opened()
        for _ in 0..<3 { try redis.connection.call("PING") }
        redis.send("+PONG\r\n+PO")
        redis.endWriting()
        #expect(
            redis.owner.events == [
                .reply(1, .text(.simpleString, "PONG")),
                .closed(.closedByServer, unanswered: 2..<4),
            ]
        )
        #expect(throws: RedisCallError.notOpen) { try redis.connection.call("PING") }
    }

    @Test func readsTheLastRepliesAlthoughAWriteHasFailed() throws {
        let redis = try ScriptedRedis.opened()
        try redis.connection.call("INCR", "a")
        #expect(redis.commands() == ["INCR a"])
        // The server answers and ends; the next command meets a closed socket.
        redis.sendAndClose("+1\r\n")
        try redis.connection.call("INCR", "a")
        redis.settle()
        #expect(redis.owner.events.first == .reply(1, .text(.simpleString, "1")))
        guard case .closed(_, let unanswered) = redis.owner.events.last else {
            return #expect(Bool(false), "the end was expected")
        }
        #expect(unanswered == 2..<3)
    }

    @Test(
        "Errors after which only a new connection helps",
        arguments: ["READONLY", "LOADING", "NOSCRIPT", "MASTERDOWN", "NOAUTH"]
    )
    func ends(code: String) throws {
        let redis = try ScriptedRedis.opened()
        for _ in 0..<3 { try redis.connection.call("INCR", "a") }
        redis.send(":1\r\n-\(code) text\r\n:2\r\n")
        let fault = RedisFault.refused(RedisError("\(code) text"))
        #expect(
            redis.owner.events == [.reply(1, .integer(1)), .closed(fault, unanswered: 2..<4)]
        )
        #expect(fault.reason == code.lowercased())
    }

    @Test(
        "Errors that the caller gets",
        arguments: ["OOM", "MISCONF", "NOREPLICAS", "BUSY", "NOPERM", "MOVED", "ERR", "FENCED"]
    )
    func passesOn(code: String) throws {
        let redis = try ScriptedRedis.opened()
        try redis.connection.call("INCR", "a")
        redis.send("-\(code) text\r\n")
        #expect(redis.owner.events == [.reply(1, .text(.simpleError, "\(code) text"))])
        #expect(redis.connection.isOpen)
        #expect(RedisError("\(code) text").isRefusal == (code != "ERR"))
    }

    @Test func endsWhenACallWaitsTooLong() throws {
        let redis = try ScriptedRedis.opened()
        try redis.connection.call("PING")
        redis.wait(.seconds(2))
        try redis.connection.call("PING")
        redis.wait(.milliseconds(990))
        redis.send("+PONG\r\n")
        #expect(redis.connection.lastRoundTrip == .milliseconds(2_990))
        // The second call has its own three seconds.
        redis.wait(.milliseconds(1_990))
        #expect(redis.connection.isOpen)
        redis.wait(.milliseconds(30))
        #expect(redis.owner.fault == .answerTimedOut(.seconds(3)))
        #expect(redis.owner.events.last == .closed(.answerTimedOut(.seconds(3)), unanswered: 2..<3))
    }

    @Test func staysOpenWithoutCalls() throws {
        let redis = try ScriptedRedis.opened()
        redis.wait(.seconds(3_600))
        #expect(redis.connection.isOpen)
        try redis.connection.call("PING")
        redis.wait(.seconds(1))
        redis.send("+PONG\r\n")
        redis.wait(.seconds(3_600))
        #expect(redis.connection.isOpen && redis.reactor.timerCount == 0)
    }

    @Test func boundsTheUnansweredBytes() throws {
        // "*1\r\n$4\r\nPING\r\n" has 14 bytes.
        let redis = try ScriptedRedis.opened(RedisSettings(unansweredBytesMax: 30))
        try redis.connection.call("PING")
        try redis.connection.call("PING")
        #expect(redis.connection.unansweredBytes == 28)
        #expect(throws: RedisCallError.tooManyBytes(count: 42, limit: 30)) {
            try redis.connection.call("PING")
        }
        #expect(redis.commands() == ["PING", "PING"])
        redis.send("+PONG\r\n")
        #expect(try redis.connection.call("PING").number == 3)
        #expect(redis.commands() == ["PING"])
    }

    @Test func countsTheConfirmationsOfSubscriptions() throws {
        let redis = try ScriptedRedis.opened()
        func push(_ kind: String, _ channel: String) -> String {
            ">3\r\n+\(kind)\r\n+\(channel)\r\n:1\r\n"
        }
        try redis.connection.subscribe(to: ["a", "b"])
        try redis.connection.call("PING")
        try redis.connection.unsubscribe(from: ["a"])
        try redis.connection.call("PING")
        #expect(redis.commands() == ["subscribe a b", "PING", "unsubscribe a", "PING"])
        // The second one is a message on a channel of that name, the fourth one is unsolicited.
        redis.send(
            push("subscribe", "a") + ">3\r\n+message\r\n+subscribe\r\n+x\r\n"
                + push("subscribe", "b")
        )
        redis.send(push("sunsubscribe", "z") + "+PONG\r\n" + push("unsubscribe", "a") + "+PONG\r\n")
        let replies = redis.owner.events.compactMap { event in
            if case .reply(let number, _) = event { number } else { nil }
        }
        #expect(replies == [2, 4])
        #expect(redis.owner.events.count == 7 && redis.connection.unansweredBytes == 0)
    }

    @Test("A slot that moves ends subscriptions, also one that is being ended")
    func distinguishesUnsolicitedPushes() throws {
        let redis = try ScriptedRedis.opened()
        let push = ">3\r\n$12\r\nsunsubscribe\r\n+a\r\n:0\r\n"
        try redis.connection.unsubscribe(from: ["a"], isSharded: true)
        try redis.connection.call("INCR", "n")
        #expect(redis.commands() == ["sunsubscribe a", "PING", "INCR n"])
        // The slot had moved before the command was executed.
        redis.send(push + "-MOVED 1 127.0.0.1:7000\r\n+PONG\r\n:5\r\n")
        try redis.connection.unsubscribe(from: ["a"], isSharded: true)
        try redis.connection.call("INCR", "n")
        // The subscription was still there.
        redis.send(push + "+PONG\r\n:6\r\n")
        let replies = redis.owner.events.filter { if case .reply = $0 { true } else { false } }
        #expect(
            replies == [
                .reply(1, .text(.simpleError, "MOVED 1 127.0.0.1:7000")),
                .reply(2, .integer(5)), .reply(4, .integer(6)),
            ]
        )
        #expect(redis.connection.unansweredBytes == 0 && redis.connection.isOpen)
        try redis.connection.unsubscribe(from: ["a"], isSharded: true)
        redis.send("+OK\r\n")
        #expect(redis.owner.fault == .unexpectedReply)
    }

    @Test func passesOnTheErrorOfASubscription() throws {
        let redis = try ScriptedRedis.opened()
        try redis.connection.subscribe(to: ["a"], isSharded: true)
        try redis.connection.call("PING")
        #expect(redis.commands() == ["ssubscribe a", "PING"])
        redis.send("-MOVED 1 127.0.0.1:7000\r\n+PONG\r\n")
        #expect(
            redis.owner.events == [
                .reply(1, .text(.simpleError, "MOVED 1 127.0.0.1:7000")),
                .reply(2, .text(.simpleString, "PONG")),
            ]
        )
    }

    @Test(
        "Ends when the server breaks the protocol",
        arguments: [
            (":x\r\n", RedisFault.malformed(.malformed(.integer, "x")), 1),
            ("$2000\r\n", .malformed(.bulkTooLong(length: 2_000, limit: 1_000)), 1),
            ("+a\r\n+b\r\n", .unexpectedReply, 2),
        ]
    )
    func ends(bytes: String, fault: RedisFault, firstUnanswered: UInt64) throws {
        let settings = RedisSettings(limits: RESPLimits(bulkLengthMax: 1_000))
        let redis = try ScriptedRedis.opened(settings)
        try redis.connection.call("PING")
        redis.send(bytes)
        #expect(redis.owner.events.last == .closed(fault, unanswered: firstUnanswered..<2))
    }

    @Test func endsWhenASubscriptionIsAnsweredByAReply() throws {
        let redis = try ScriptedRedis.opened()
        try redis.connection.subscribe(to: ["a"])
        redis.send("+OK\r\n")
        #expect(redis.owner.events == [.closed(.unexpectedReply, unanswered: 1..<2)])
    }

    @Test func deliversNothingAfterItWasClosed() throws {
        let redis = try ScriptedRedis.opened()
        for _ in 0..<3 { try redis.connection.call("PING") }
        redis.owner.onReceived = { $0.close() }
        redis.send("+1\r\n+2\r\n+3\r\n")
        #expect(
            redis.owner.events == [
                .reply(1, .text(.simpleString, "1")), .closed(.closedByOwner, unanswered: 2..<4),
            ]
        )
    }

    @Test func canBeCalledWhileAReplyIsRead() throws {
        let redis = try ScriptedRedis.opened()
        try redis.connection.call("PING")
        #expect(redis.commands() == ["PING"])
        redis.owner.onReceived = { connection in _ = try? connection.call("GET", "a") }
        redis.send("+PONG\r\n")
        #expect(redis.commands() == ["GET a"])
    }

    @Test func leavesTheReactorEmpty() throws {
        let redis = try ScriptedRedis.opened()
        try redis.connection.call("PING")
        redis.connection.close()
        redis.settle()
        #expect(redis.reactor.streamCount == 0 && redis.reactor.timerCount == 0)
        redis.connection.close()
        redis.settle()
        #expect(redis.owner.events.count == 1)
    }

    @Test func keepsTheNumbersOfManyCalls() throws {
        let redis = try ScriptedRedis.opened()
        var number: UInt64 = 0
        for round in 0..<40 {
            for _ in 0..<100 { try redis.connection.call("PING") }
            _ = redis.commands()
            // Always some calls are left.
            redis.send(String(repeating: "+P\r\n", count: round == 39 ? 139 : 99))
            for event in redis.owner.takeEvents() {
                number += 1
                guard event != .reply(number, .text(.simpleString, "P")) else { continue }
                Issue.record("\(event) is not the reply to call \(number)")
            }
        }
        #expect(number == 4_000 && redis.connection.unansweredBytes == 0)
    }
}
