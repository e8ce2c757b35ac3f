import PusherProtocol
import Testing

@testable import Broker

@Suite("Sessions over a restart") struct SessionStorageTests {
    /// Three parked sessions and one with an owner.
    private func former() throws -> SessionHomeModel {
        let former = SessionHomeModel()
        for key in UInt64(1)...4 {
            _ = former.claim(key, key: key, at: 200)
            if key < 4 { try former.handOver(key, key: key, serial: key, at: 210) }
        }
        return former
    }

    @Test("All go over a stop, to the shards that are their homes, and are as they were")
    func stop() throws {
        let former = try former()
        #expect(!former.home.stored(at: former.moment(220)).isComplete, "one has a connection")
        try former.handOver(4, key: 4, serial: 4, at: 220)
        let stored = former.home.stored(at: former.moment(220))
        #expect(stored.isComplete && stored.sessions.count == 4)
        #expect(stored.unknownBefore == nil && stored.evictions.isEmpty)
        for shard in 0..<2 {
            let home = SessionHomeModel(isFirst: false, shards: 2)
            home.restore(stored, on: shard, at: 230)
            #expect(home.home.count == 2)
            for key in UInt64(1)...4 where Int(key % 2) == shard {
                #expect(text(home.claim(9, key: key, created: 200, at: 231)) == ["9 owns \(key)"])
            }
            let another = UInt64(8 + shard)
            #expect(text(home.claim(9, key: another, created: 100, at: 231)) == ["9 owns"])
        }
    }

    @Test("The time between two runs is part of a session's age") func ages() throws {
        let former = try former()
        try former.handOver(4, key: 4, at: 220)
        let stored = former.home.stored(at: former.moment(220))
        let home = SessionHomeModel(isFirst: false)
        home.restore(stored, at: 515)
        home.expire(at: 515)
        #expect(home.home.count == 1)
        #expect(text(home.claim(9, key: 1, created: 400, at: 516)) == ["9 owns unknown"])
        #expect(text(home.claim(9, key: 4, created: 200, at: 516)) == ["9 owns 1"])
    }

    @Test("Behind a crash a session resumes, and its other channels stay unknown")
    func crash() throws {
        let former = try former()
        var stored = former.home.stored(at: former.moment(220))
        stored.isComplete = false
        let home = SessionHomeModel(isFirst: false)
        home.restore(stored, at: 300)
        guard
            case .answer(.owned(let begin), _, _) = home.claim(9, key: 1, created: 0, at: 400).first
        else {
            Issue.record("no owner")
            return
        }
        #expect(begin.cursors.map(\.position.serial) == [1])
        #expect(begin.mayLackCursors)
        // However long its connections last: one may ask for another channel whenever it is authorized.
        try home.handOver(9, key: 1, mayLackCursors: begin.mayLackCursors, at: 600)
        guard case .answer(.owned(let next), _, _) = home.claim(10, key: 1, at: 650).first else {
            Issue.record("no owner")
            return
        }
        #expect(next.mayLackCursors)
    }

    @Test(
        "Behind a crash tokens of before are unknown, and of two minutes more",
        arguments: [(0, false), (419, false), (420, false), (421, true)]
    )
    func unknown(created: Int64, isNew: Bool) throws {
        let home = SessionHome(start: (SessionHomeModel.epoch + 300) * 1_000)
        let model = SessionHomeModel()
        model.home = home
        model.restore(StoredSessions([StoredSession(model.address(1), parkedAt: nil)]), at: 300)
        let expected = isNew ? "9 owns" : "9 owns unknown"
        #expect(text(model.claim(9, key: 2, created: created, at: 421)) == [expected])
    }

    @Test("A session that had a connection counts as parked at the start, and is written so")
    func living() throws {
        let home = SessionHomeModel(isFirst: false)
        home.home.noteChanges()
        let session = StoredSession(home.address(1), parkedAt: nil, [try home.cursor(7)])
        home.restore(StoredSessions([session]), at: 500)
        #expect(home.changes(at: 501) == ["keep 1 resumable 7"])
        home.expire(at: 799)
        #expect(home.home.count == 1)
        home.expire(at: 800)
        #expect(home.home.count == 0 && home.changes(at: 801) == ["remove 1"])
    }

    @Test("What tells forgotten sessions from new ones goes over a stop, too") func bounds() throws
    {
        let former = SessionHomeModel(isFirst: false)
        former.settings.sessionsMax = 1
        _ = former.claim(1, key: 1, created: 300, at: 200)
        try former.handOver(1, key: 1, at: 200)
        former.expire(at: 500)
        _ = former.claim(2, key: 2, created: 500, at: 500)
        try former.handOver(2, key: 2, at: 500)
        _ = former.claim(3, key: 3, created: 501, at: 501)
        try former.handOver(3, key: 3, at: 501)
        let stored = former.home.stored(at: former.moment(510))
        #expect(stored.isComplete && stored.unknownBefore == SessionHomeModel.epoch * 1_000)
        #expect(stored.evictions == [former.app: (SessionHomeModel.epoch + 501) * 1_000])
        #expect(
            stored.sessions.map(\.state).sorted { $0.rawValue < $1.rawValue } == [
                .resumable, .forgotten,
            ]
        )
        let home = SessionHomeModel(isFirst: false)
        home.restore(stored, at: 520)
        #expect(text(home.claim(4, key: 1, created: 300, at: 521)) == ["4 owns unknown"])
        #expect(text(home.claim(5, key: 2, created: 500, at: 521)) == ["5 owns unknown"])
        #expect(text(home.claim(6, key: 6, created: 622, at: 521)) == ["6 owns"])
    }

    @Test("A shared token resumes nothing behind a restart either") func shared() throws {
        let former = SessionHomeModel()
        _ = former.claim(1, at: 1)
        _ = former.claim(2, at: 2)
        try former.handOver(1, at: 2)
        _ = former.isAlive(1, at: 5)
        let home = SessionHomeModel(isFirst: false)
        home.restore(former.home.stored(at: former.moment(6)), at: 10)
        #expect(text(home.claim(3, at: 11)) == ["3 answered shared"])
    }

    @Test("Socket IDs, owed gaps and openings, and what the client answers go over a restart")
    func contents() throws {
        let former = SessionHomeModel()
        let (claim, id) = (former.claim(1, at: 1), SocketID(1, 0))
        guard case .answer(.owned, let address, _) = claim.first else {
            Issue.record("no owner")
            return
        }
        var cursor = try former.cursor(3)
        (cursor.owedGap, cursor.owesOpening) = (RecoveryGap(.truncated, missed: 2), true)
        let handover = SessionHandover(
            address,
            from: id,
            [cursor],
            mayLackCursors: true,
            answersPings: true
        )
        _ = former.home.receive(handover, at: 9_000)
        let home = SessionHomeModel(isFirst: false)
        // The steady clock of another process began 100 seconds later.
        home.home.restore(
            former.home.stored(at: former.moment(10)),
            on: 0,
            at: SessionHome.Moment(
                now: 20_000,
                calendar: (SessionHomeModel.epoch + 120) * 1_000
            ),
            sessionsMax: { _ in 10 }
        )
        guard case .answer(.owned(let begin), _, _) = home.claim(2, at: 21).first else {
            Issue.record("no owner")
            return
        }
        #expect(
            begin
                == SessionResumption(
                    [cursor],
                    formerSocketIDs: [id],
                    mayLackCursors: true,
                    answersPings: true
                )
        )
    }

    @Test("Sessions above the limit, and of apps that are not served, are forgotten")
    func limits() throws {
        let former = try former()
        try former.handOver(4, key: 4, at: 211)
        var stored = former.home.stored(at: former.moment(220))
        let other = SessionAddress(app: AppID("2"), key: SessionKey(high: 0, low: 1))
        stored.sessions.append(StoredSession(other, parkedAt: stored.sessions[0].parkedAt))
        let home = SessionHomeModel(isFirst: false)
        home.settings.sessionsMax = 2
        home.home.noteChanges()
        home.restore(stored, at: 230)
        #expect(home.home.count == 2)
        #expect(home.changes(at: 230).count { $0.hasPrefix("remove") } == 3)
        #expect(text(home.claim(9, key: 4, created: 200, at: 231)) == ["9 owns 1"])
        try home.handOver(9, key: 4, at: 232)
        let unknown = text(home.claim(9, key: 9, created: 200, at: 231))
        #expect(unknown.last == "9 owns unknown")
    }

    @Test("What changes without a connection is noted once, as it is when it is taken")
    func changes() throws {
        let home = SessionHomeModel()
        home.settings.sessionsMax = 2
        _ = home.claim(1, key: 1, at: 1)
        try home.handOver(1, key: 1, serial: 5, at: 2)
        #expect(home.home.changeCount == 0, "nobody asks")
        home.home.noteChanges()
        _ = home.claim(2, key: 1, at: 3)
        try home.handOver(2, key: 1, serial: 6, at: 4)
        #expect(home.changes(at: 4) == ["keep 1 resumable 6"] && home.home.changeCount == 0)
        _ = home.claim(3, key: 2, at: 5)
        try home.handOver(3, key: 2, at: 6)
        _ = home.claim(4, key: 2, at: 7)
        #expect(home.changes(at: 7) == [], "its owner knows more")
        try home.handOver(4, key: 2, at: 8)
        _ = home.claim(5, key: 3, created: 400, at: 9)
        #expect(home.changes(at: 9) == ["keep 2 resumable 1", "remove 1"])
        _ = home.claim(6, key: 3, at: 10)
        try home.handOver(5, key: 3, at: 10)
        _ = home.home.isAlive(SocketID(5, 0), home.address(3), at: 11_000)
        #expect(home.changes(at: 11) == ["keep 3 shared"])
        home.expire(at: 400)
        #expect(home.changes(at: 400, upTo: 1).count == 1)
        #expect(home.changes(at: 400).count == 1 && home.home.changeCount == 0)
    }
}
