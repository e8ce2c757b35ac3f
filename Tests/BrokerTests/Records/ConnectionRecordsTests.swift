import PusherProtocol
import Testing

@testable import Broker

private let stream = StreamID(bits: 1)
private let app = AppID("1")

private func position(_ serial: UInt64) -> ChannelPosition {
    ChannelPosition(stream: stream, serial: serial)
}

private func identity(_ socketID: SocketID) -> ConnectionRecord.Identity {
    ConnectionRecord.Identity(socketID, of: app, client: "js", user: nil)
}

/// The records of a shard, as a class, because `#expect` takes no mutating calls.
private final class Shard {
    var records: ConnectionRecords
    let channel: ChannelName

    init(closedMax: Int = 10) throws {
        records = ConnectionRecords(closedMax: closedMax)
        channel = try ChannelName("a")
    }

    func subscribe(
        _ number: UInt64,
        _ serial: UInt64,
        _ continuity: SubscriptionStart.Continuity = .began,
        predecessor: UInt64? = nil,
        at now: Int64 = 0
    ) {
        let subscription = SubscriptionRecord(
            channel,
            SubscriptionStart(position(serial), continuity),
            predecessor: predecessor.map { SocketID($0, 1) },
            at: now
        )
        records.subscribed(subscription, SocketID(number, 1))
    }

    func close(_ number: UInt64, at serial: UInt64, droppedFrom: UInt64? = nil) {
        let ending = ConnectionRecord.Ending(code: 4100)
        records.closed(identity(SocketID(number, 1)), ending, at: 1) { _ in (serial, droppedFrom) }
    }

    func confirm(_ number: UInt64, _ serial: UInt64, app: AppID = app, successor: UInt64? = nil) {
        records.confirm(
            position(serial),
            on: channel,
            of: SocketID(number, 1),
            app: app,
            successor: successor.map { SocketID($0, 1) },
            at: 2
        ) { identity($0).app }
    }

    func record(_ number: UInt64) -> ConnectionRecord? {
        records.record(of: SocketID(number, 1), identity)
    }

    func verdict(
        _ serial: UInt64,
        _ number: UInt64 = 1,
        except: UInt64? = nil,
        isKept: Bool = true
    ) -> DeliveryVerdict? {
        let message = TracedMessage(
            position(serial),
            last: 100,
            time: isKept ? 0 : nil,
            except: except.map { SocketID($0, 1) }
        )
        return record(number)?.verdict(of: message, on: channel).verdict
    }
}

@Suite("Connection records") struct ConnectionRecordsTests {
    @Test("Every serial has a verdict: new, resumed, behind a gap, dropped, left")
    func verdicts() throws {
        let shard = try Shard()
        shard.subscribe(1, 5)
        #expect(shard.verdict(5) == .beforeJoining && shard.verdict(6) == .sent)
        #expect(shard.verdict(6, isKept: false) == .notKept)
        #expect(shard.verdict(6, except: 1) == .leftOut)
        #expect(shard.verdict(6, except: 2) == .sent)
        shard.subscribe(2, 5, .recovered(replay: 3), predecessor: 1)
        #expect(shard.verdict(5, 2) == .confirmed && shard.verdict(6, 2) == .replayed)
        #expect(shard.verdict(8, 2) == .replayed && shard.verdict(9, 2) == .sent)
        #expect(shard.verdict(7, 2, except: 1) == .leftOut)
        shard.subscribe(3, 50, .gap(RecoveryGap(.truncated, missed: 20)))
        #expect(shard.verdict(30, 3) == .confirmed && shard.verdict(31, 3) == .gapTold)
        #expect(shard.verdict(50, 3) == .gapTold && shard.verdict(51, 3) == .sent)
        shard.close(1, at: 20, droppedFrom: 15)
        #expect(shard.verdict(14) == .sent && shard.verdict(15) == .dropped)
        #expect(shard.verdict(20) == .dropped && shard.verdict(21) == .afterLeaving)
        shard.confirm(1, 17, successor: 4)
        #expect(shard.verdict(17) == .confirmed && shard.verdict(18) == .dropped)
        #expect(shard.record(1)?.subscriptions[0].successor == SocketID(4, 1))
        #expect(shard.verdict(6, 9) == nil)
    }

    @Test("Of several subscriptions the one that says most counts")
    func severalSubscriptions() throws {
        let shard = try Shard()
        shard.subscribe(1, 0)
        shard.records.unsubscribed(SocketID(1, 1), from: shard.channel, at: 3, 1)
        shard.subscribe(1, 3, .recovered(replay: 2), at: 2)
        #expect(shard.verdict(2) == .confirmed && shard.verdict(4) == .replayed)
        #expect(shard.verdict(6) == .sent)
        let other = try ChannelName("b")
        let message = TracedMessage(position(1), last: 1, time: 0)
        let record = try #require(shard.record(1))
        #expect(record.verdict(of: message, on: other).verdict == .notSubscribed)
    }

    @Test("A confirmation of another app, or of another stream, is ignored")
    func foreignConfirmations() throws {
        let shard = try Shard()
        shard.subscribe(1, 0)
        shard.confirm(1, 5, app: AppID("2"))
        shard.records.confirm(
            ChannelPosition(stream: StreamID(bits: 9), serial: 5),
            on: shard.channel,
            of: SocketID(1, 1),
            app: app,
            at: 2
        ) { identity($0).app }
        #expect(shard.verdict(5) == .sent)
        shard.confirm(1, 5)
        shard.confirm(1, 3)
        #expect(shard.verdict(5) == .confirmed)
    }

    @Test(
        "The oldest closed connections go, and their subscriptions are few",
        arguments: [0, 1, 3]
    )
    func limits(closedMax: Int) throws {
        let shard = try Shard(closedMax: closedMax)
        for number in UInt64(1)...5 {
            shard.subscribe(number, 0)
            shard.close(number, at: 1)
        }
        #expect(shard.records.isEmpty && shard.records.closedCount == closedMax)
        for number in UInt64(1)...5 {
            #expect((shard.verdict(1, number) != nil) == (number > 5 - UInt64(closedMax)))
        }
        for serial in UInt64(0)..<200 {
            shard.subscribe(9, serial)
            shard.records.unsubscribed(SocketID(9, 1), from: shard.channel, at: serial, 0)
        }
        let count = shard.record(9)?.subscriptions.count
        #expect(count == RecordedSubscriptions.subscriptionsMax)
    }

    @Test("Who tracks nothing is judged by time")
    func untracked() throws {
        let shard = try Shard()
        let socketID = SocketID(1, 1)
        shard.records.subscribed(SubscriptionRecord(shard.channel, nil, at: 10), socketID)
        shard.records.closed(identity(socketID), ConnectionRecord.Ending(), at: 20) { _ in
            (0, nil)
        }
        for (time, verdict) in [
            (9, .beforeJoining), (10, .sent), (20, .sent), (21, .afterLeaving), (nil, .notKept),
        ] as [(Int64?, DeliveryVerdict)] {
            let message = TracedMessage(position(1), last: 1, time: time)
            let found = shard.record(1)?.verdict(of: message, on: shard.channel).verdict
            #expect(found == verdict)
        }
    }
}
