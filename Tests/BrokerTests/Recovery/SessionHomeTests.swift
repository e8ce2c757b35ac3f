import PusherProtocol
import Testing

@testable import Broker

@Suite("The home of sessions") struct SessionHomeTests {
    @Test("Positions of sessions without a connection have a budget, and each address its part")
    func positionBudget() throws {
        let model = SessionHomeModel()
        // Seven of 129 bytes.
        (model.settings.sessionBytesMax, model.settings.sessionsMax) = (1_000, 100)
        let addressDigests: [UInt32] = [1, 1, 1, 1, 2, 2, 0, 0, 0, 0]
        for (index, addressDigest) in addressDigests.enumerated() {
            let key = UInt64(index + 1)
            _ = model.claim(key, key: key, from: addressDigest)
            let isKept = [true, true, true, false, true, false, true, true, true, false][index]
            let effects = try model.handOver(key, key: key)
            #expect(text(effects) == (isKept ? [] : ["sessionBytes"]), "\(key)")
        }
        #expect(model.home.byteCount(of: model.app) == 7 * 129)
        #expect(text(model.claim(11, key: 1)) == ["11 owns 1"])
        #expect(text(model.claim(12, key: 4)) == ["12 owns unknown"])
        #expect(model.home.byteCount(of: model.app) == 6 * 129)
        model.expire(at: 301)
        #expect(model.home.byteCount(of: model.app) == 0)
    }

    @Test("An address with a quarter of all sessions forgets its own ones alone")
    func sessionsOfAnAddress() throws {
        let model = SessionHomeModel()
        model.settings.sessionsMax = 4
        for key in UInt64(1)...4 {
            _ = model.claim(key, key: key, from: key == 2 ? 7 : 8)
            if key < 3 { try model.handOver(key, key: key, at: Int64(key)) }
        }
        #expect(text(model.claim(5, key: 5, from: 7, at: 5)) == ["recoverySessions", "5 owns"])
        let full = ["recoverySessions", "6 full unknown"]
        #expect(text(model.claim(6, key: 6, from: 7, at: 5)) == full)
        #expect(text(model.claim(7, key: 1, from: 8, at: 6)) == ["7 owns 1"])
    }

    @Test("A session goes from an ended connection to the next")
    func parks() throws {
        let home = SessionHomeModel()
        #expect(text(home.claim(1, at: 0)) == ["1 owns"])
        #expect(try home.handOver(1, serial: 7, at: 10).isEmpty)
        #expect(text(home.claim(2, at: 20)) == ["2 owns 7"])
        #expect(try home.handOver(1, serial: 8, at: 21).isEmpty, "the former owner is late")
        #expect(text(home.claim(3, at: 22)) == ["2 yields at 22"])
    }

    @Test("A living owner hands over; those opened before it cannot claim")
    func yields() throws {
        let home = SessionHomeModel()
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
        let home = SessionHomeModel()
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
        let home = SessionHomeModel()
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
        #expect(text(SessionHomeModel().claim(2, created: created, at: now)) == [expected])
    }

    @Test(
        "Behind a start without the sessions of before, tokens of before are unknown",
        arguments: [
            (0, 0, false), (120, 30, false), (121, 30, true), (200, 200, true), (121, 421, false),
        ]
    )
    func restarts(created: Int64, now: Int64, isNew: Bool) {
        let expected = isNew ? "2 owns" : "2 owns unknown"
        #expect(
            text(SessionHomeModel(isFirst: false).claim(2, created: created, at: now)) == [expected]
        )
    }

    @Test(
        "A calendar that is set makes no new token unknown, whichever time its device has",
        arguments: [660, -660, 3_600, -3_600] as [Int64],
        [false, true]
    )
    func calendarSteps(step: Int64, deviceFollows: Bool) throws {
        let home = SessionHomeModel()
        _ = home.claim(1, at: 0)
        home.step = step
        let device = deviceFollows ? step : 0
        #expect(text(home.claim(2, key: 2, created: 60 + device, at: 60)) == ["2 owns"])
        // Known ones are found by their key.
        try home.handOver(1, serial: 7, at: 70)
        #expect(text(home.claim(3, at: 80)) == ["3 owns 7"])
    }

    @Test(
        "After the calendar was set, a forgotten session is not taken for a new one",
        arguments: [660, -660] as [Int64]
    )
    func forgottenAcrossSteps(step: Int64) throws {
        let home = SessionHomeModel()
        _ = home.claim(1, created: 0, at: 0)
        try home.handOver(1, at: 10)
        home.expire(at: 310)
        home.expire(at: 310 + 121)
        home.step = step
        for now in stride(from: Int64(432), to: 2_500, by: 10) {
            home.expire(at: now)
            let former = home.home
            #expect(text(home.claim(2, created: 0, at: now)) == ["2 owns unknown"], "\(now)")
            home.home = former
        }
        // From when nothing was forgotten for long, those created now are new by either time.
        for created in [2_500, 2_500 + step] {
            let former = home.home
            #expect(text(home.claim(3, key: 3, created: created, at: 2_500)) == ["3 owns"])
            home.home = former
        }
    }

    @Test("A forgotten session is remembered as long as its token could be new")
    func forgets() throws {
        let home = SessionHomeModel()
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

    @Test("A session expires however often its client was here before")
    func expires() throws {
        let model = SessionHomeModel()
        for time in 1...200 as ClosedRange<Int64> {
            _ = model.claim(UInt64(time), at: time)
            try model.handOver(UInt64(time), at: time)
            let parked = model.home
            model.expire(at: time + 300)
            #expect(model.home.count == 0, "parked \(time) times")
            model.home = parked
        }
    }

    @Test("Above the limit the longest parked goes; with none, a new one has no recovery")
    func evicts() throws {
        let home = SessionHomeModel()
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
        let home = SessionHomeModel(isFirst: false)
        guard case .answer(.owned(let begin), let address, let id) = home.claim(1, at: 5).first
        else {
            Issue.record("no owner")
            return
        }
        #expect(begin.mayLackCursors)
        let handover = SessionHandover(address, from: id, [], mayLackCursors: begin.mayLackCursors)
        _ = home.home.receive(handover, at: 600_000)
        guard case .answer(.owned(let again), _, _) = home.claim(2, at: 7).first else {
            Issue.record("no owner")
            return
        }
        #expect(again.mayLackCursors)
    }
}
