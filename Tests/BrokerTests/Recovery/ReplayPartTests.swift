import PusherProtocol
import Testing

@testable import Broker

@Suite("Confirmations of the parts of a replay") struct ReplayPartTests {
    /// Replays messages of a length until a ping is due behind a part, `count` times; returns the last serial of each part.
    private func replayParts(
        _ count: Int,
        behind start: UInt64 = 0,
        to connection: ConfirmingConnection,
        messageLength: Int = 1_024
    ) throws -> [UInt64] {
        var serial = start
        return try (0..<count).map { _ in
            repeat {
                serial += 1
                try connection.replay(upTo: serial, length: messageLength)
            } while connection.cursors.replayLengthLeft > 0
            _ = try #require(connection.ask(at: 0, behind: .replayPart))
            return serial
        }
    }

    @Test("A pong confirms the part ahead of its ping, and no more")
    func confirms() throws {
        let connection = ConfirmingConnection()
        try connection.begin()
        let parts = try replayParts(3, to: connection)
        #expect(parts == [128, 256, 384])
        try connection.replay(upTo: 400, length: 1_024)
        #expect(connection.ask(at: 0, behind: .grants) == nil, "little is left")
        #expect(connection.ask(at: 60_000) == nil, "pings are outstanding")
        #expect(connection.confirmed() == 0)
        for part in parts {
            #expect(connection.pong() == ["a"])
            #expect(connection.confirmed() == part)
        }
        #expect(connection.pong().isEmpty && connection.confirmed() == 384)
        #expect(connection.ask(at: 999) == nil, "too early")
        #expect(connection.ask(at: 1_000) != nil)
        connection.pong()
        #expect(connection.confirmed() == 400 && !connection.cursors.hasUnconfirmed)
    }

    @Test("A short replay is confirmed by the ping behind it alone")
    func shortReplay() throws {
        let connection = ConfirmingConnection()
        try connection.begin()
        try connection.replay(upTo: 100, length: 100 << 10)
        #expect(connection.cursors.replayLengthLeft > 0)
        #expect(connection.ask(at: 0, behind: .replayPart) == nil)
        #expect(connection.ask(at: 0, behind: .grants) != nil)
        connection.pong()
        #expect(connection.confirmed() == 100)
    }

    @Test("The rest of a long replay is asked about at once, though its parts are not answered")
    func longRest() throws {
        let connection = ConfirmingConnection()
        try connection.begin()
        _ = try replayParts(8, to: connection)
        try connection.replay(upTo: 10_000, length: 128 << 10)
        #expect(connection.cursors.replayLengthLeft > 0, "a later part is longer")
        #expect(connection.ask(at: 0, behind: .grants) != nil)
        for _ in 0..<9 { connection.pong() }
        #expect(connection.confirmed() == 10_000)
    }

    @Test("A ping behind a part also confirms what was handed over on other channels")
    func otherChannels() throws {
        let connection = ConfirmingConnection()
        try connection.begin("b", at: 7)
        try connection.begin("a")
        try connection.handOver(9, "b")
        _ = try replayParts(1, to: connection)
        try connection.handOver(10, "b")
        #expect(Set(connection.pong()) == ["a", "b"])
        #expect(connection.confirmed("b") == 9)
    }

    @Test("A few pings divide any replay, each part at most half as long as all before it")
    func bounds() throws {
        let connection = ConfirmingConnection()
        try connection.begin()
        let parts = try replayParts(16, to: connection)
        for (end, next) in zip(parts.dropFirst(2), parts.dropFirst(3)) {
            #expect(next - end <= end / 2 + 1)
        }
        #expect(connection.cursors.replayLengthLeft == .max)
        try connection.replay(upTo: parts[15] + 1_000_000, length: 1 << 30)
        #expect(connection.ask(at: 0, behind: .replayPart) == nil)
        #expect(connection.ask(at: 0, behind: .grants) == nil)
        #expect(connection.ask(at: 0, behind: .end) == nil)
        #expect(connection.cursors.unconfirmedCount == 17)
        connection.pong()
        #expect(connection.cursors.replayLengthLeft < 0)
        #expect(connection.ask(at: 0, behind: .replayPart) != nil)
        for _ in 0..<16 { connection.pong() }
        #expect(connection.confirmed() == parts[15] + 1_000_000)
        #expect(connection.cursors.unconfirmedCount == 0)
    }

    @Test("The answers to the pings of a former subscription confirm nothing of the next")
    func resubscription() throws {
        let connection = ConfirmingConnection()
        try connection.begin()
        _ = try replayParts(2, to: connection)
        connection.cursors.remove(try ChannelName("a"))
        try connection.begin(at: 50)
        let part = try replayParts(1, behind: 50, to: connection)[0]
        connection.pong()
        connection.pong()
        #expect(connection.confirmed() == 50)
        connection.pong()
        #expect(connection.confirmed() == part)
    }

    @Test("One pong frame answers the pings ahead of its own, two seconds later")
    func frames() throws {
        let connection = ConfirmingConnection()
        try connection.begin()
        try connection.handOver(1)
        #expect(connection.ask(at: -10_000)?.frame == 1)
        connection.pongFrame(1, at: -9_999)
        connection.pongFrame(1, at: -4_999)
        #expect(connection.confirmed(at: -5_000) == 1, "the client ignores pusher:ping")
        let parts = try replayParts(3, behind: 1, to: connection)
        connection.pongFrame(3, at: 100)
        connection.pongFrame(4, at: 1_000)
        #expect(connection.confirmed(at: 2_099) == 1)
        #expect(connection.confirmed(at: 2_100) == parts[1])
        #expect(connection.confirmed(at: 2_999) == parts[1])
        #expect(connection.confirmed(at: 3_000) == parts[2])
        #expect(!connection.cursors.hasUnconfirmed)
    }

    @Test("A page that answers its first pusher:ping late answers no later one with it")
    func latePages() throws {
        let connection = ConfirmingConnection()
        try connection.begin()
        let parts = try replayParts(3, to: connection)
        for number in 1...3 { connection.pongFrame(UInt16(number), at: 1) }
        try connection.replay(upTo: 500)
        // It is taken for a client that answers ping frames alone.
        #expect(connection.ask(at: 5_000)?.hasMessage == false)
        #expect(connection.pong().isEmpty && connection.confirmed() == 0)
        #expect(connection.cursors.hasUnasked, "asked about again")
        try connection.replay(upTo: 600)
        #expect(connection.ask(at: 6_000)?.hasMessage == true)
        // These answer the second and the third of the first pings.
        connection.pong()
        connection.pong()
        #expect(connection.confirmed(at: 60_000) == 0)
        connection.pong()
        #expect(connection.confirmed() == 600 && parts[2] < 600)
    }

    @Test("A check for life is passed behind the answers to all pings ahead of it")
    func checks() throws {
        let connection = ConfirmingConnection()
        try connection.begin()
        _ = try replayParts(3, to: connection)
        #expect(!connection.passesCheck(nil), "superseded, and not checked yet")
        #expect(connection.beginCheck().hasMessage)
        #expect(!connection.passesCheck(nil) && !connection.passesCheck(nil))
        #expect(connection.passesCheck(nil))
    }

    @Test("Parts of a sealed stream are confirmed in it, ahead of the stream that follows")
    func formerStreams() throws {
        let connection = ConfirmingConnection()
        let (channel, next) = (try ChannelName("a"), StreamID(bits: 2))
        let gap = RecoveryGap(.truncated, missed: 1)
        try connection.begin(at: 10, gap: gap)
        let parts = try replayParts(2, behind: 10, to: connection)
        let start = ChannelPosition(stream: next, serial: 3)
        connection.cursors.goOn(channel, at: SubscriptionStart(start, .recovered(replay: 2)))
        try connection.replay(upTo: 5)
        #expect(connection.cursor()?.position.serial == 10)
        #expect(connection.cursor()?.owedGap == gap)
        for part in parts {
            connection.pong()
            let confirmed = ChannelPosition(stream: connection.stream, serial: part)
            #expect(connection.cursor()?.position == confirmed)
            #expect(connection.cursor()?.owedGap == nil)
        }
        #expect(connection.ask(at: 1_000) != nil)
        connection.pong()
        #expect(connection.cursor()?.position == ChannelPosition(stream: next, serial: 5))
    }
}
