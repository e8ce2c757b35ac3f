import Net
import PusherProtocol
import Testing

@testable import FanfareBench

@Suite("Members that join and leave", .timeLimit(.minutes(1))) struct PresenceTests {
    private func scenario(_ options: [String] = []) throws -> PresenceCommand {
        try .with(["--observers", "3", "--visitors", "2", "--visits", "10"] + options)
    }

    @Test(arguments: [[], ["--rate", "200"]]) func areAllNotified(options: [String]) async throws {
        let report = try await TargetServer.report(on: scenario(options), .none)
        #expect(report.fault == nil)
        #expect(report["notices"] == .integer(60))
        #expect(report["expected"] == .integer(60))
        for name in ["join_latency_us", "leave_latency_us"] {
            #expect(try report.latency(name).max > 0)
        }
    }

    @Test(arguments: [0, 1]) func aNoticeThatIsLost(number: Int) async throws {
        let report = try await TargetServer.report(on: scenario(), .losesNotice(number))
        #expect(report.fault == "1 lost: no delivery for 3.0 s")
    }

    @Test(arguments: [0, 19]) func aNoticeThatComesTwice(number: Int) async throws {
        let report = try await TargetServer.report(on: scenario(), .duplicatesNotice(number))
        #expect(report.fault == "1 duplicated")
    }
}

@Suite("Visits of a presence channel") struct VisitTrackerTests {
    private let now = MonotonicTime(nanoseconds: 1_000)
    private let later = MonotonicTime(nanoseconds: 5_000)

    private func notice(_ sequence: UInt32, isJoin: Bool) -> PresenceNotice {
        PresenceNotice(isJoin: isJoin, marker: EventMarker(run: 1, sequence: sequence, sentAt: 7))
    }

    private func receive(
        _ sequence: UInt32,
        isJoin: Bool,
        by observer: Int,
        at now: MonotonicTime,
        _ visits: inout VisitTracker
    ) -> Int64? {
        visits.receive(notice(sequence, isJoin: isJoin), by: observer, at: now)
    }

    @Test func advanceWhenAllObserversAreNotified() {
        var visits = VisitTracker(observerCount: 2, visitorCount: 3)
        #expect(visits.absentVisitor == 0)
        let first = visits.join(1, due: now)
        #expect(first == 1)
        #expect(receive(1, isJoin: true, by: 0, at: later, &visits) == 7)
        visits.confirmJoin(1, at: later)
        #expect(visits.presence(of: 1) == nil)
        #expect(receive(1, isJoin: true, by: 1, at: later, &visits) == 7)
        #expect(visits.presence(of: 1)?.due == now)
        #expect(visits.presence(of: 1)?.since == later)
        #expect(visits.inProgressCount == 1)

        visits.leave(1, due: later)
        #expect(visits.presence(of: 1) == nil)
        #expect(receive(1, isJoin: false, by: 1, at: later, &visits) == 5_000)
        #expect(visits.endedCount == 0)
        #expect(receive(1, isJoin: false, by: 0, at: later, &visits) == 5_000)
        #expect(visits.endedCount == 1)
        #expect(visits.inProgressCount == 0)
        #expect(visits.tracker.fault(stalled: nil) == nil)
        // The next visit is by another user.
        let next = visits.join(1, due: later)
        #expect(next == 7)
    }

    @Test func mayBeginBeforeTheLastOneHasEnded() {
        var visits = VisitTracker(observerCount: 1, visitorCount: 1)
        for (number, due) in [(UInt32(0), now), (2, later)] {
            #expect(visits.join(0, due: due) == number)
            visits.confirmJoin(0, at: due)
            #expect(receive(number, isJoin: true, by: 0, at: due, &visits) == 7)
            visits.leave(0, due: due)
        }
        #expect(visits.presentCount == 0)
        #expect(visits.inProgressCount == 2)
        #expect(receive(0, isJoin: false, by: 0, at: later, &visits) == 1_000)
        #expect(receive(2, isJoin: false, by: 0, at: later, &visits) == 5_000)
        #expect(visits.inProgressCount == 0)
        #expect(visits.tracker.fault(stalled: nil) == nil)
    }

    @Test func waitForTheAcknowledgement() {
        var visits = VisitTracker(observerCount: 1, visitorCount: 1)
        _ = visits.join(0, due: now)
        _ = visits.receive(notice(0, isJoin: true), by: 0, at: now)
        #expect(visits.presence(of: 0) == nil)
        visits.confirmJoin(0, at: later)
        #expect(visits.presence(of: 0)?.since == later)
    }

    @Test func everyNoticeComesOnce() {
        var visits = VisitTracker(observerCount: 1, visitorCount: 2)
        _ = visits.join(0, due: now)
        #expect(receive(0, isJoin: true, by: 0, at: now, &visits) != nil)
        #expect(receive(0, isJoin: true, by: 0, at: now, &visits) == nil)
        #expect(visits.tracker.duplicated == 1)
        // No visitor has left, and the other one has not joined.
        #expect(receive(0, isJoin: false, by: 0, at: now, &visits) == nil)
        #expect(receive(1, isJoin: true, by: 0, at: now, &visits) == nil)
        #expect(receive(.max, isJoin: false, by: 0, at: now, &visits) == nil)
        #expect(visits.tracker.outOfOrder == 3)
        #expect(visits.tracker.deliveries == 1)
    }
}

@Suite("Notices of a presence channel") struct PresenceNoticeTests {
    private let marker = EventMarker(run: 5, sequence: 9, sentAt: 1_000)

    private func find(_ text: String, _ scanner: inout PresenceNoticeScanner) -> PresenceNotice? {
        let bytes = Array(text.utf8)
        return scanner.find(in: bytes.span)
    }

    private func text(_ name: String, channel: String = "presence-a") -> String {
        let id = String(decoding: marker.data(length: EventMarker.length), as: UTF8.self)
        let data = #"{\"user_id\":\"\#(id)\"}"#
        return #"{"event":"pusher_internal:\#(name)","channel":"\#(channel)","data":"\#(data)"}"#
    }

    @Test func areFoundInAnyOrder() {
        var scanner = PresenceNoticeScanner(run: 5)
        for isJoin in [true, false, false, true, true] {
            let name = isJoin ? "member_added" : "member_removed"
            let expected = PresenceNotice(isJoin: isJoin, marker: marker)
            #expect(find(text(name), &scanner) == expected)
            #expect(find(text(name, channel: "presence-member_added"), &scanner) == expected)
            #expect(find(" \n" + text(name), &scanner) == expected)
        }
    }

    @Test func areFoundAsOurBrokerWritesThem() {
        var scanner = PresenceNoticeScanner(run: 5)
        let id = String(decoding: marker.data(length: EventMarker.length), as: UTF8.self)
        let added = ServerMessage.memberAdded(channel: "presence-a", userID: id, userInfo: nil)
        let removed = ServerMessage.memberRemoved(channel: "presence-a", userID: id)
        let texts = [added, removed].map { String(decoding: $0.bytes, as: UTF8.self) }
        let joins = texts.map { find($0, &scanner)?.isJoin }
        #expect(joins == [true, false])
    }

    @Test func otherMessagesAreNone() {
        var scanner = PresenceNoticeScanner(run: 5)
        for name in ["subscription_succeeded", "member_", "member_x", "members"] {
            #expect(find(text(name), &scanner) == nil)
        }
        var other = PresenceNoticeScanner(run: 6)
        #expect(find(text("member_added"), &other) == nil)
        // Truncated in the user ID.
        for length in 0..<text("member_added").utf8.count - 5 {
            #expect(find(String(text("member_added").prefix(length)), &scanner) == nil)
        }
    }
}
