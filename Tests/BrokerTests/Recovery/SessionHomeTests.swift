import PusherProtocol
import Testing

@testable import Broker

/// The home of sessions, as a class, because `#expect` takes no mutating calls.
///
/// Times are in seconds; the broker starts at 0 of its steady clock, which is `epoch` of the calendar.
private final class Home {
    static let epoch: Int64 = 1_000_000
    var home: SessionHome
    var settings = RecoverySettings(sessionsMax: 10)
    let app = AppID("1")

    init(isFirst: Bool = true, shards: Int = 1) {
        home = SessionHome(shardCount: shards, start: isFirst ? nil : Self.epoch * 1_000)
    }

    func moment(_ now: Int64) -> SessionHome.Moment {
        SessionHome.Moment(now: now * 1_000, calendar: (Self.epoch + now) * 1_000)
    }

    func address(_ key: UInt64) -> SessionAddress {
        SessionAddress(app: app, key: SessionKey(high: 0, low: key))
    }

    /// Claims a session whose token was created at `created`, by a connection that was opened at `now`.
    func claim(
        _ connection: UInt64,
        key: UInt64 = 1,
        created: Int64? = nil,
        opened: Int64? = nil,
        at now: Int64 = 0
    ) -> [SessionHome.Effect] {
        let claim = SessionClaim(
            address(key),
            createdAt: (Self.epoch + (created ?? now)) * 1_000,
            socketID: SocketID(connection, 0),
            openedAt: (opened ?? now) * 1_000_000_000
        )
        return home.claim(claim, settings, at: moment(now))
    }

    @discardableResult
    func handOver(
        _ connection: UInt64,
        key: UInt64 = 1,
        serial: UInt64 = 1,
        at now: Int64 = 0
    ) throws -> [SessionHome.Effect] {
        home.receive(
            SessionHandover(
                address(key),
                from: SocketID(connection, 0),
                [try cursor(serial)],
                unknownUntil: .min
            ),
            at: now * 1_000
        )
    }

    func isAlive(_ connection: UInt64, at now: Int64 = 0) -> [SessionHome.Effect] {
        home.isAlive(SocketID(connection, 0), address(1), at: now * 1_000)
    }

    func cursor(_ serial: UInt64) throws -> SessionCursor {
        SessionCursor(
            try ChannelName("a"),
            ChannelPosition(stream: StreamID(bits: 1), serial: serial)
        )
    }

    func expire(at now: Int64) {
        home.removeExpired(at: moment(now)) { _ in settings.sessionAge }
    }
}

/// The effects as text: who is answered what.
private func text(_ effects: [SessionHome.Effect]) -> [String] {
    effects.map { effect in
        switch effect {
        case .answer(.owned(let begin), _, let id):
            "\(id.first) owns" + begin.cursors.map { " \($0.position.serial)" }.joined()
                + (begin.unknownUntil > .min ? " unknown" : "")
        case .answer(.superseded, _, let id): "\(id.first) superseded"
        case .answer(.shared, _, let id): "\(id.first) answered shared"
        case .answer(.full(_, let unknownUntil), _, let id):
            "\(id.first) full" + (unknownUntil > .min ? " unknown" : "")
        case .requestYield(_, let id, let opened): "\(id.first) yields at \(opened / 1_000_000_000)"
        case .tellShared(_, let id): "\(id.first) told shared"
        case .limitMet(let limit): "\(limit)"
        }
    }
}

@Suite("The home of sessions") struct SessionHomeTests {
    @Test("A session goes from an ended connection to the next")
    func parks() throws {
        let home = Home()
        #expect(text(home.claim(1, at: 0)) == ["1 owns"])
        #expect(try home.handOver(1, serial: 7, at: 10).isEmpty)
        #expect(text(home.claim(2, at: 20)) == ["2 owns 7"])
        #expect(try home.handOver(1, serial: 8, at: 21).isEmpty, "the former owner is late")
        #expect(text(home.claim(3, at: 22)) == ["2 yields at 22"])
    }

    @Test("A living owner hands over; those opened before it cannot claim")
    func yields() throws {
        let home = Home()
        _ = home.claim(1, at: 1)
        #expect(text(home.claim(2, at: 2)) == ["1 yields at 2"])
        #expect(text(home.claim(9, opened: 1, at: 3)) == ["9 superseded"])
        #expect(text(home.claim(3, at: 4)) == ["2 superseded"])
        #expect(text(try home.handOver(1, serial: 5, at: 5)) == ["3 owns 5"])
        #expect(try home.handOver(1, serial: 9, at: 6).isEmpty)
        #expect(text(home.claim(2, opened: 2, at: 7)) == ["2 superseded"])
        try home.handOver(3, serial: 6, at: 8)
        #expect(text(home.claim(4, at: 9)) == ["4 owns 6"])
    }

    @Test("The last four socket IDs are remembered")
    func socketIDs() throws {
        let home = Home()
        for connection in UInt64(1)...5 {
            _ = home.claim(connection, at: Int64(connection))
            try home.handOver(connection, at: Int64(connection))
        }
        guard case .answer(.owned(let begin), _, _) = home.claim(6, at: 6).first else {
            Issue.record("no owner")
            return
        }
        #expect(begin.formerSocketIDs.map(\.first) == [2, 3, 4, 5])
    }

    @Test("Two that live share, and the token resumes nothing any more")
    func shares() throws {
        let home = Home()
        _ = home.claim(1, at: 1)
        _ = home.claim(2, at: 2)
        try home.handOver(1, at: 2)
        #expect(text(home.isAlive(1, at: 5)) == ["1 told shared", "2 told shared"])
        #expect(try home.handOver(2, at: 6).isEmpty)
        #expect(text(home.claim(3, at: 7)) == ["3 answered shared"])
        #expect(text(home.claim(4, at: 8)) == ["4 answered shared"])
        home.expire(at: 8 + 299)
        #expect(text(home.claim(5, created: 1, at: 300)) == ["5 answered shared"])
        home.expire(at: 601)
        #expect(text(home.claim(5, created: 1, at: 601)) == ["5 owns unknown"])
    }

    @Test(
        "An unknown token is new if nothing that may be forgotten is as young",
        arguments: [
            // Created, claimed, whether it is new.
            (0, 0, true), (120, 0, true), (121, 0, false), (-299, 0, true), (-300, 0, false),
        ]
    )
    func clocks(created: Int64, now: Int64, isNew: Bool) {
        let expected = isNew ? "2 owns" : "2 owns unknown"
        #expect(text(Home().claim(2, created: created, at: now)) == [expected])
    }

    @Test(
        "Behind a start without the sessions of before, tokens of before are unknown",
        arguments: [
            (0, 0, false), (120, 30, false), (121, 30, true), (200, 200, true), (121, 421, false),
        ]
    )
    func restarts(created: Int64, now: Int64, isNew: Bool) {
        let expected = isNew ? "2 owns" : "2 owns unknown"
        #expect(text(Home(isFirst: false).claim(2, created: created, at: now)) == [expected])
    }

    @Test("A forgotten session is remembered as long as its token could be new")
    func forgets() throws {
        let home = Home()
        // The device's clock is two minutes ahead.
        _ = home.claim(1, created: 120, at: 0)
        try home.handOver(1, at: 10)
        home.expire(at: 309)
        #expect(home.home.count == 1)
        home.expire(at: 310)
        #expect(home.home.count == 0 && !home.home.isEmpty)
        #expect(text(home.claim(2, created: 120, at: 311)) == ["2 owns unknown"])
        try home.handOver(2, at: 311)
        home.expire(at: 311 + 300)
        home.expire(at: 311 + 300 + 120)
        #expect(home.home.isEmpty)
    }

    @Test("Above the limit the longest parked goes; with none, a new one has no recovery")
    func evicts() throws {
        let home = Home()
        home.settings.sessionsMax = 2
        _ = home.claim(1, key: 1, at: 200)
        _ = home.claim(2, key: 2, at: 200)
        #expect(text(home.claim(3, key: 3, at: 201)) == ["recoverySessions", "3 full"])
        #expect(text(home.claim(3, key: 3, at: 202)) == ["recoverySessions", "3 full unknown"])
        try home.handOver(2, key: 2, at: 202)
        try home.handOver(1, key: 1, at: 203)
        #expect(text(home.claim(4, key: 4, at: 204)) == ["recoverySessions", "4 owns unknown"])
        #expect(text(home.claim(5, key: 1, created: 200, at: 205)) == ["5 owns 1"])
        try home.handOver(4, key: 4, at: 206)
        #expect(
            text(home.claim(6, key: 2, created: 200, at: 207)) == [
                "recoverySessions", "6 owns unknown",
            ]
        )
        try home.handOver(6, key: 2, at: 208)
        #expect(
            text(home.claim(7, key: 7, created: 328, at: 400)) == ["recoverySessions", "7 owns"],
            "created behind any session that was forgotten"
        )
    }

    @Test("The channels of an unknown session are unknown for as long as it lives")
    func unknownTime() throws {
        let home = Home(isFirst: false)
        guard case .answer(.owned(let begin), let address, let id) = home.claim(1, at: 5).first
        else {
            Issue.record("no owner")
            return
        }
        #expect(begin.unknownUntil == .max)
        let handover = SessionHandover(address, from: id, [], unknownUntil: begin.unknownUntil)
        _ = home.home.receive(handover, at: 600_000)
        guard case .answer(.owned(let again), _, _) = home.claim(2, at: 7).first else {
            Issue.record("no owner")
            return
        }
        #expect(again.unknownUntil == .max)
    }

    @Test(
        "Parked sessions go over a restart, to the shards that are their homes",
        arguments: [
            true, false,
        ]
    )
    func restores(isComplete: Bool) throws {
        let former = Home()
        for key in UInt64(1)...4 {
            _ = former.claim(key, key: key, at: 200)
            if key < 4 { try former.handOver(key, key: key, serial: key, at: 210) }
        }
        let parked = former.home.parked(at: former.moment(220))
        #expect(parked.count == 3)
        #expect(parked.allSatisfy { $0.parkedAt == (Home.epoch + 210) * 1_000 })
        var found = 0
        for shard in 0..<2 {
            let home = Home(isFirst: false, shards: 2)
            home.home.restore(parked, on: shard, isComplete: isComplete, at: home.moment(230))
            found += home.home.count
            for key in UInt64(1)...3 where Int(key % 2) == shard {
                let expected = "9 owns \(key)" + (isComplete ? "" : " unknown")
                #expect(text(home.claim(9, key: key, created: 200, at: 231)) == [expected])
            }
            let expected = isComplete ? "9 owns" : "9 owns unknown"
            #expect(
                text(home.claim(9, key: UInt64(8 + shard), created: 100, at: 231)) == [expected]
            )
            home.expire(at: 509)
            #expect(!home.home.isEmpty)
        }
        #expect(found == 3)
    }
}
