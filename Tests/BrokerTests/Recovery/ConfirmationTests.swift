import PusherProtocol
import Testing

@testable import Broker

@Suite("Confirmations") struct ConfirmationTests {
    @Test("What a pusher:pong follows is confirmed, and nothing else")
    func messages() throws {
        let connection = ConfirmingConnection()
        try connection.begin(at: 7)
        #expect(connection.confirmed() == 7)
        #expect(connection.ask(at: 0) == nil)
        try connection.handOver(9)
        connection.pong()
        #expect(connection.confirmed() == 7, "unasked")
        #expect(connection.ask(at: 0) == ConfirmationPings.Request(hasMessage: true, frame: 1))
        try connection.handOver(10)
        #expect(connection.ask(at: 60_000) == nil, "one is outstanding")
        connection.pong()
        #expect(connection.confirmed() == 9)
        connection.pong()
        #expect(connection.confirmed() == 9, "that ping is answered")
        #expect(connection.ask(at: 999) == nil, "too early")
        #expect(connection.ask(at: 999, behind: .end)?.frame == nil, "the client is known")
        connection.pong()
        #expect(connection.confirmed() == 10 && !connection.cursors.hasUnconfirmed)
    }

    @Test(
        "The pong of a ping that asks for a sign of life only confirms nothing",
        arguments: [true, false]
    )
    func signs(isFirst: Bool) throws {
        let connection = ConfirmingConnection()
        try connection.begin(at: 7)
        try connection.handOver(9)
        if isFirst { connection.cursors.notePing() }
        #expect(connection.ask(at: 0) != nil)
        if !isFirst { connection.cursors.notePing() }
        connection.pong()
        #expect(connection.confirmed() == 7)
        connection.pong()
        #expect(connection.confirmed() == 9)
    }

    @Test("What was handed over on any channel since it was noted is confirmed by the same pong")
    func laterMarks() throws {
        let connection = ConfirmingConnection()
        for channel in ["a", "b", "c"] { try connection.begin(channel, at: 7) }
        try connection.handOver(9, "a")
        connection.handOver(upTo: ["a": 10, "b": 8])
        #expect(connection.ask(at: 0) != nil)
        connection.pong()
        #expect(["a", "b", "c"].map { connection.confirmed($0) } == [10, 8, 7])
    }

    @Test("Pong frames count when the connection outlives them by two seconds")
    func frames() throws {
        let connection = ConfirmingConnection()
        try connection.begin()
        try connection.handOver(1)
        #expect(connection.ask(at: 1_000)?.frame == 1)
        connection.pongFrame(1, at: 1_010)
        #expect(connection.confirmed(at: 5_999) == 0, "it may answer the pusher:ping yet")
        #expect(connection.confirmed(at: 6_000) == 1)
        try connection.handOver(2)
        #expect(
            connection.ask(at: 6_000) == ConfirmationPings.Request(hasMessage: false, frame: 2)
        )
        connection.pongFrame(1, at: 6_010)
        #expect(connection.confirmed(at: 60_000) == 1, "an earlier ping")
        connection.pongFrame(2, at: 6_020)
        try connection.handOver(3)
        #expect(connection.ask(at: 8_019) == nil, "too early")
        #expect(connection.confirmed(at: 8_019) == 1)
        #expect(connection.ask(at: 8_020)?.frame == 3)
        connection.pongFrame(3, at: 8_025)
        #expect(connection.confirmed(at: 10_024) == 2)
        #expect(connection.confirmed(at: 10_025) == 3)
    }

    @Test("The network layer's pong frame does not confirm for a page that answers pusher:ping")
    func pages() throws {
        let connection = ConfirmingConnection()
        try connection.begin()
        try connection.handOver(1)
        #expect(connection.ask(at: 0)?.frame == 1)
        connection.pongFrame(1, at: 1)
        // The page is busy, and closes the connection: what waits is dropped.
        #expect(connection.confirmed(at: 4_000) == 0)
        connection.pong()
        #expect(connection.confirmed(at: 4_000) == 1)
        try connection.handOver(2)
        #expect(
            connection.ask(at: 4_000) == ConfirmationPings.Request(hasMessage: true, frame: nil)
        )
        connection.pongFrame(2, at: 4_001)
        #expect(connection.confirmed(at: 60_000) == 1)
    }

    @Test("A page that answers its first pusher:ping late is asked by it again")
    func latePages() throws {
        let connection = ConfirmingConnection()
        try connection.begin()
        try connection.handOver(1)
        #expect(connection.ask(at: 0)?.frame == 1)
        connection.pongFrame(1, at: 1)
        try connection.handOver(2)
        #expect(connection.ask(at: 5_000)?.hasMessage == false)
        connection.pong()
        connection.pongFrame(2, at: 5_001)
        #expect(connection.confirmed(at: 60_000) == 0, "neither proves that it has processed 1")
        let request = connection.ask(at: 6_000)
        #expect(request == ConfirmationPings.Request(hasMessage: true, frame: nil))
        connection.pong()
        #expect(connection.confirmed(at: 60_000) == 2)
    }

    @Test("A ping frame that another one has replaced is repeated")
    func repetition() throws {
        let connection = ConfirmingConnection()
        try connection.begin()
        try connection.handOver(1)
        #expect(connection.ask(at: 0)?.frame == 1)
        connection.pongFrame(1, at: 1)
        try connection.handOver(2)
        #expect(connection.ask(at: 5_000)?.frame == 2)
        try connection.handOver(3)
        #expect(connection.ask(at: 34_999) == nil)
        #expect(connection.ask(at: 35_000)?.frame == 3)
        connection.pongFrame(3, at: 35_001)
        #expect(connection.confirmed(at: 40_000) == 3)
    }

    @Test("A replay, a gap and an opening are owed until a pong behind them")
    func owed() throws {
        let connection = ConfirmingConnection()
        let gap = RecoveryGap(.truncated, missed: 9)
        try connection.begin("a", at: 5, replay: 3)
        try connection.begin("b", at: 20, gap: gap)
        try connection.begin("cache-c", hasOpening: true)
        try connection.begin("d", at: 5, replay: 0)
        #expect(connection.confirmed("a") == 5)
        #expect(connection.cursor("b")?.owedGap == gap)
        #expect(connection.cursor("cache-c")?.owesOpening == true)
        #expect(connection.ask(at: 0) != nil)
        // Its ping was written ahead of this one's acknowledgement.
        try connection.begin("cache-e", hasOpening: true)
        connection.pong()
        #expect(connection.confirmed("a") == 8 && connection.confirmed("d") == 5)
        #expect(connection.cursor("b")?.owedGap == nil && connection.confirmed("b") == 20)
        #expect(connection.cursor("cache-c")?.owesOpening == false)
        #expect(connection.cursor("cache-e")?.owesOpening == true)
    }

    @Test("The pong of a former subscription to a channel confirms nothing of the next")
    func resubscription() throws {
        let connection = ConfirmingConnection()
        try connection.begin()
        try connection.handOver(4)
        #expect(connection.ask(at: 0) != nil)
        connection.cursors.remove(try ChannelName("a"))
        #expect(try connection.handOver(5) == nil)
        try connection.begin(at: 2, replay: 1)
        connection.pong()
        #expect(connection.confirmed() == 2)
        #expect(connection.ask(at: 1_000) != nil)
        connection.pong()
        #expect(connection.confirmed() == 3)
    }

    @Test("A mark behind the grant's own is that of the grant")
    func marks() throws {
        let connection = ConfirmingConnection()
        try connection.begin(at: 7, replay: 2)
        #expect(try connection.handOver(3) == 9)
        #expect(try connection.handOver(10) == 10)
    }

    @Test("A superseded client lives when it answers the ping of the check, not an earlier one")
    func checks() throws {
        let connection = ConfirmingConnection()
        try connection.begin()
        #expect(connection.beginCheck().hasMessage)
        #expect(connection.passesCheck(nil))
        try connection.handOver(1)
        #expect(connection.ask(at: 0) != nil)
        let check = connection.beginCheck()
        #expect(!connection.passesCheck(nil), "the answer to the earlier ping")
        #expect(!connection.passesCheck(1))
        #expect(connection.passesCheck(nil))
        #expect(!connection.passesCheck(nil), "once")
        let again = connection.beginCheck()
        #expect(again.frame != check.frame)
        #expect(connection.passesCheck(again.frame ?? 0))
    }

    @Test("An answer to an earlier ping ahead of the check is not awaited by it")
    func checksBehindAnAnswer() throws {
        let connection = ConfirmingConnection()
        try connection.begin()
        try connection.handOver(1)
        #expect(connection.ask(at: 0)?.hasMessage == true)
        #expect(!connection.passesCheck(nil), "superseded, and not checked yet")
        #expect(connection.beginCheck().hasMessage)
        #expect(connection.passesCheck(nil))
    }

    @Test("Subscribing again and again grows nothing, whether or not the client answers")
    func growsNothing() throws {
        let connection = ConfirmingConnection()
        for _ in 0..<5 {
            try connection.begin(hasOpening: true)
            #expect(connection.cursors.unconfirmedCount == 1)
            connection.cursors.remove(try ChannelName("a"))
            #expect(connection.cursors.unconfirmedCount == 0)
        }
        for now in stride(from: Int64(0), to: 2_000_000, by: 40_000) {
            try connection.begin(gap: RecoveryGap(.truncated, missed: 1))
            _ = connection.ask(at: now)
            connection.pongFrame(1, at: now + 1)
            try connection.begin(gap: RecoveryGap(.truncated, missed: 1))
            #expect(
                connection.cursors.unconfirmedCount <= 2,
                "the present one, and an unanswered ping"
            )
        }
        #expect(connection.cursor()?.owedGap != nil)
    }
}
