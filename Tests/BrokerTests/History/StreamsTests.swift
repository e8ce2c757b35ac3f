import PusherProtocol
import Testing

@testable import Broker

/// The streams of one shard, as a class, because `#expect` takes no mutating calls.
///
/// Times are in seconds.
private final class Shard {
    var streams: Streams
    var settings: RecoverySettings

    init(_ settings: RecoverySettings = RecoverySettings(), total: Int = .max) {
        self.settings = settings
        streams = Streams(seed: 7, retainedBytesMax: total)
    }

    func open(_ channel: String, app: String = "1", isVacant: Bool = false, at now: Int64 = 0)
        -> Int
    {
        let name = try? ChannelName(channel)
        guard let name else { preconditionFailure("not a channel: \(channel)") }
        let address = ChannelAddress(app: AppID(app), name: name)
        return streams.open(address, settings, isVacant: isVacant, at: now * 1_000)
    }

    func has(_ channel: String) -> Bool {
        let name = try? ChannelName(channel)
        return name.map { streams.index(of: ChannelAddress(app: AppID("1"), name: $0)) != nil }
            ?? false
    }

    /// Appends messages of ten bytes, each with its serial.
    @discardableResult
    func append(
        _ count: Int = 1,
        to stream: Int,
        except: SocketID? = nil,
        at now: Int64 = 0
    ) -> [Limit?] {
        (0..<count).map { _ in
            let envelope = envelope(streams.nextSerial(stream))
            return streams.append(envelope, except: except, to: stream, at: now * 1_000)
        }
    }

    func envelope(_ serial: UInt64) -> Envelope {
        let zeros = String(repeating: "0", count: 10 - "\(serial)".count)
        return Envelope(text: Array("\(zeros)\(serial)".utf8))
    }

    /// What a client gets from a position: its continuity and the serials of the replay, negative for what left it out.
    func resume(
        _ stream: Int,
        from serial: UInt64,
        of id: StreamID? = nil,
        socketID: SocketID? = nil,
        at now: Int64 = 0
    ) -> (SubscriptionStart.Continuity, [Int]) {
        let position = ChannelPosition(stream: id ?? streams[stream].id, serial: serial)
        let request = PositionRequest(position, formerSocketID: socketID)
        let replay = self.replay(stream, request, at: now)
        return (replay.start.continuity, replay.messages.map(Self.serial))
    }

    /// The connection that subscribes.
    static let reader = SocketID(9, 9)

    /// What a client gets that neither has a position nor asks for a rewind.
    func begin(_ stream: Int, at now: Int64 = 0) -> (start: SubscriptionStart, serials: [Int]) {
        let replay = replay(stream, nil, at: now)
        return (replay.start, replay.messages.map(Self.serial))
    }

    private func replay(_ stream: Int, _ request: PositionRequest?, at now: Int64) -> Replay {
        streams.replay(stream, for: request, of: Self.reader, settings, at: now * 1_000)
    }

    func rewind(
        _ stream: Int,
        _ rewind: PositionRequest.Rewind,
        at now: Int64 = 0
    ) -> (start: SubscriptionStart, serials: [Int]) {
        let request = PositionRequest(rewind: rewind)
        let replay = self.replay(stream, request, at: now)
        return (replay.start, replay.messages.map(Self.serial))
    }

    private static func serial(_ message: ReplayedMessage) -> Int {
        switch message {
        case .envelope(let envelope): Int(String(decoding: envelope.text, as: UTF8.self)) ?? 0
        case .leftOut(let serial): -Int(serial)
        }
    }
}

private func gap(_ reason: RecoveryGap.Reason, _ missed: UInt64? = nil)
    -> SubscriptionStart.Continuity
{
    .gap(RecoveryGap(reason, missed: missed))
}

@Suite("Streams of channels") struct StreamsTests {
    @Test(
        "A stream keeps its order over a stop, also where the calendar was set back between two messages"
    )
    func spooledOrder() throws {
        let former = Shard()
        let (stream, other) = (former.open("a"), former.open("b"))
        for (serial, time) in [(1, 50), (2, 20), (3, 30)] {
            let envelope = former.envelope(UInt64(serial))
            _ = former.streams.append(envelope, except: nil, to: stream, at: Int64(time) * 1_000)
        }
        former.append(to: other, at: 25)
        let shard = Shard()
        shard.streams.restore(
            former.streams.spooled(calendarOffset: 100),
            { _ in shard.settings },
            at: 60_000,
            calendarOffset: 100
        )
        let restored = shard.open("a")
        #expect(shard.streams[restored].id == former.streams[stream].id)
        let (continuity, serials) = shard.resume(restored, from: 0)
        #expect(continuity == .recovered(replay: 3) && serials == [1, 2, 3])
    }

    @Test("A stored stream without serials left is not continued, and its row is forgotten")
    func withoutSerials() throws {
        let shard = Shard(RecoverySettings { $0.standard = RecoveryRule { $0.store = .archive } })
        shard.streams.useArchive(RowNumbers(from: 9, shard: 0, of: 1), StreamSeeds(from: 5))
        let address = ChannelAddress(app: AppID("1"), name: try ChannelName("a"))
        let serialMax = ChannelPosition.serialMax
        for (row, serial) in [(7, serialMax), (8, serialMax / 2)] as [(Int64, UInt64)] {
            let stored = StoredStream(
                row: row,
                address,
                StreamID(bits: 5),
                lastSerial: serial,
                StoredStream.Limits(RecoveryRule { $0.store = .archive })
            )
            let index = shard.streams.restore(stored, isCurrent: true, shard.settings, at: 0)
            #expect((index == nil) == (row == 7))
        }
        #expect(shard.streams.takeForgottenRows() == [7])
    }

    @Test("All that was missed is replayed, or nothing and the reason is told")
    func replays() {
        let shard = Shard(RecoverySettings { $0.standard = RecoveryRule { $0.messagesMax = 5 } })
        let stream = shard.open("a")
        shard.append(9, to: stream)
        for known in UInt64(4)...9 {
            let (continuity, serials) = shard.resume(stream, from: known)
            #expect(continuity == .recovered(replay: 9 - Int(known)))
            #expect(serials == Array(Int(known) + 1..<10))
        }
        for known in UInt64(0)..<4 {
            let (continuity, serials) = shard.resume(stream, from: known)
            #expect(continuity == gap(.truncated, 9 - known))
            #expect(serials == [])
        }
        #expect(shard.resume(stream, from: 10).0 == gap(.ahead))
        #expect(shard.resume(stream, from: 9, of: StreamID("other")).0 == gap(.unknownStream))
    }

    @Test("A stream without messages is recovered from its beginning")
    func silent() {
        let shard = Shard()
        let stream = shard.open("a")
        #expect(shard.resume(stream, from: 0, at: 10_000).0 == .recovered(replay: 0))
        shard.append(to: stream, at: 10_000)
        #expect(shard.resume(stream, from: 0, at: 10_000).1 == [1])
    }

    @Test("A silent stream is recovered although its messages are too old")
    func aged() {
        let shard = Shard()
        let stream = shard.open("a")
        shard.append(3, to: stream)
        for now in [Int64(300), 301, 5_000] {
            shard.streams.removeExpired(at: now * 1_000)
            #expect(shard.resume(stream, from: 3, at: now).0 == .recovered(replay: 0))
        }
        #expect(shard.streams.byteCount == 0)
        #expect(shard.resume(stream, from: 2, at: 5_000).0 == gap(.truncated, 1))
        shard.append(to: stream, at: 5_000)
        #expect(shard.resume(stream, from: 3, at: 5_000).1 == [4])
    }

    @Test("A message is not replayed beyond its age, although it was not removed yet")
    func ageIsExact() {
        let shard = Shard()
        let stream = shard.open("a")
        shard.append(to: stream, at: 1)
        shard.append(to: stream, at: 5)
        #expect(shard.resume(stream, from: 0, at: 301).1 == [1, 2])
        #expect(shard.resume(stream, from: 0, at: 302).0 == gap(.truncated, 2))
        #expect(shard.resume(stream, from: 1, at: 302).1 == [2])
    }

    @Test("The limits of a channel drop its oldest messages", arguments: [0, 9, 10, 25, 40])
    func bytesOfAChannel(bytesMax: Int) {
        let shard = Shard(
            RecoverySettings { $0.standard = RecoveryRule { $0.bytesMax = bytesMax } }
        )
        let stream = shard.open("a")
        shard.append(4, to: stream)
        #expect(shard.streams.byteCount == bytesMax / 10 * 10)
        let kept = bytesMax / 10
        let known = UInt64(4 - kept)
        #expect(shard.resume(stream, from: known).1 == Array(Int(known) + 1..<5))
        if known > 0 {
            #expect(shard.resume(stream, from: known - 1).0 == gap(.truncated, 5 - known))
        }
    }

    @Test("A long message is not kept, and nothing before it is replayed")
    func longMessage() {
        let shard = Shard(RecoverySettings { $0.standard = RecoveryRule { $0.bytesMax = 50 } })
        let stream = shard.open("a")
        shard.append(2, to: stream)
        let long = Envelope(text: [UInt8](repeating: 0x30, count: 51))
        _ = shard.streams.append(long, except: nil, to: stream, at: 0)
        #expect(shard.resume(stream, from: 2).0 == gap(.truncated, 1))
        #expect(shard.resume(stream, from: 3).0 == .recovered(replay: 0))
        shard.append(to: stream)
        #expect(shard.resume(stream, from: 3).1 == [4])
    }

    @Test("A replay has limits of its own")
    func tooMuch() {
        var settings = RecoverySettings()
        settings.replayMessagesMax = 3
        settings.replayBytesMax = 25
        let shard = Shard(settings)
        let stream = shard.open("a")
        shard.append(9, to: stream)
        #expect(shard.resume(stream, from: 7).1 == [8, 9])
        #expect(shard.resume(stream, from: 6).0 == gap(.tooMuch, 3))
        #expect(shard.resume(stream, from: 5).0 == gap(.tooMuch, 4))
    }

    @Test("What left a connection out is left out of its replay, by number")
    func exclusions() {
        let shard = Shard(RecoverySettings { $0.standard = RecoveryRule { $0.messagesMax = 4 } })
        let (one, other) = (SocketID(1, 1), SocketID(2, 2))
        let stream = shard.open("a")
        for except in [one, nil, other, one, nil, one] {
            shard.append(to: stream, except: except)
        }
        #expect(shard.resume(stream, from: 2, socketID: one).1 == [3, -4, 5, -6])
        #expect(shard.resume(stream, from: 4, socketID: one).1 == [5, -6])
        #expect(shard.resume(stream, from: 2, socketID: other).1 == [-3, 4, 5, 6])
        #expect(shard.resume(stream, from: 2).1 == [3, 4, 5, 6])
    }

    @Test("Earlier messages are replayed to a new client where the rule allows it")
    func rewinds() {
        let shard = Shard()
        let stream = shard.open("a")
        for now in Int64(1)...6 { shard.append(to: stream, at: now) }
        let refused = shard.rewind(stream, .count(2), at: 6)
        #expect(refused.serials == [] && refused.start.isRewindComplete == nil)
        #expect(refused.start.position.serial == 6)
        shard.settings.standard.allowsRewind = true
        _ = shard.open("a")
        for (count, serials) in [(2, [5, 6]), (6, [1, 2, 3, 4, 5, 6]), (9, [1, 2, 3, 4, 5, 6])] {
            let (start, got) = shard.rewind(stream, .count(count), at: 6)
            #expect(got == serials)
            #expect(start.isRewindComplete == true && start.rewound == serials.count)
            #expect(start.position.serial == UInt64(6 - serials.count))
        }
        #expect(shard.rewind(stream, .seconds(2), at: 6).serials == [4, 5, 6])
        #expect(shard.rewind(stream, .seconds(2), at: 6).start.isRewindComplete == true)
        #expect(shard.rewind(stream, .count(6), at: 303).serials == [3, 4, 5, 6])
        #expect(shard.rewind(stream, .count(6), at: 303).start.isRewindComplete == false)
    }

    @Test("An opening is as long as count, seconds, age and the limits of a replay allow")
    func openings() {
        let shard = Shard()
        let stream = shard.open("a")
        for now in Int64(1)...6 { shard.append(to: stream, at: now) }
        for (opening, serials, isComplete) in [
            (RecoveryRule.Opening.live, [], nil), (.replay(), [1, 2, 3, 4, 5, 6], true),
            (.replay(count: 2), [5, 6], true), (.replay(seconds: 2), [4, 5, 6], true),
            (.replay(count: 2, seconds: 2), [5, 6], true),
            (.replay(count: 9, seconds: 1), [5, 6], true), (.replay(seconds: 0), [6], true),
        ] as [(RecoveryRule.Opening, [Int], Bool?)] {
            shard.settings.standard.opening = opening
            _ = shard.open("a")
            let (start, got) = shard.begin(stream, at: 6)
            #expect(got == serials, "\(opening)")
            #expect(start.isRewindComplete == isComplete, "\(opening)")
            #expect(start.position.serial == UInt64(6 - serials.count))
        }
        shard.settings.standard.opening = .replay()
        _ = shard.open("a")
        for (countMax, byteCountMax, count) in [(2, 100, 2), (9, 39, 3), (9, 60, 6), (0, 9, 0)] {
            shard.settings.replayMessagesMax = countMax
            shard.settings.replayBytesMax = byteCountMax
            let (start, got) = shard.begin(stream, at: 6)
            #expect(got == Array(7 - count..<7))
            #expect(start.isRewindComplete == (count == 6))
        }
    }

    @Test("What excludes the connection that subscribes is left out of an opening")
    func openingExclusions() {
        let shard = Shard(
            RecoverySettings { $0.standard = RecoveryRule { $0.opening = .replay() } }
        )
        let stream = shard.open("a")
        for except in [nil, Shard.reader, SocketID(1, 1)] {
            shard.append(to: stream, except: except)
        }
        #expect(shard.begin(stream).serials == [1, -2, 3])
        #expect(shard.resume(stream, from: 0).1 == [1, -2, 3])
    }

    @Test("A stream that begins anew keeps nothing of the former")
    func restarts() {
        let shard = Shard()
        let stream = shard.open("a")
        shard.append(3, to: stream)
        let former = shard.streams[stream].id
        shard.streams.restart(stream)
        #expect(shard.streams[stream].id != former && shard.streams.byteCount == 0)
        #expect(shard.resume(stream, from: 3, of: former).0 == gap(.unknownStream))
        shard.append(2, to: stream)
        #expect(shard.resume(stream, from: 0).1 == [1, 2])
    }

    @Test("The rule of the first prefix applies")
    func rules() {
        let shard = Shard(
            RecoverySettings {
                $0.rules = [
                    RecoveryRule {
                        $0.channelPrefix = "private-orders-"
                        $0.messagesMax = 1
                    },
                    RecoveryRule {
                        $0.channelPrefix = "private-"
                        $0.messagesMax = 2
                    },
                ]
            }
        )
        for (channel, kept) in [("private-orders-7", 1), ("private-a", 2), ("a", 3)] {
            let stream = shard.open(channel)
            shard.append(3, to: stream)
            #expect(shard.streams[stream].retainedCount == kept)
        }
    }

    // MARK: - Budgets

    @Test("A budget drops the oldest messages of all channels, and tells which limit")
    func budgets() {
        for (settings, total, limit) in [
            (RecoverySettings { $0.retainedBytesMax = 100 }, Int.max, Limit.appRetainedBytes),
            (RecoverySettings(), 100, .retainedBytesTotal),
        ] {
            let shard = Shard(settings, total: total)
            let (one, other) = (shard.open("a"), shard.open("b"))
            for now in Int64(0)..<5 {
                #expect(shard.append(to: one, at: now) == [nil])
                #expect(shard.append(to: other, at: now) == [nil])
            }
            #expect(shard.append(to: one, at: 5) == [limit])
            #expect(shard.streams.byteCount == 90)
            #expect(shard.resume(one, from: 1, at: 5).1 == [2, 3, 4, 5, 6])
            #expect(shard.resume(other, from: 1, at: 5).1 == [2, 3, 4, 5])
            #expect(shard.resume(other, from: 0, at: 5).0 == gap(.truncated, 5))
        }
    }

    @Test("The budget of one app drops nothing of another")
    func budgetsOfApps() {
        let shard = Shard(RecoverySettings { $0.retainedBytesMax = 20 })
        let (one, other) = (shard.open("a", app: "1"), shard.open("a", app: "2"))
        shard.append(2, to: other, at: 0)
        shard.append(3, to: one, at: 1)
        #expect(shard.streams[other].retainedCount == 2)
        #expect(shard.streams[one].retainedCount <= 2)
    }

    @Test("A budget holds while one second brings more than it")
    func budgetsWithinOneSecond() {
        for (settings, total) in [
            (RecoverySettings { $0.retainedBytesMax = 100 }, Int.max), (RecoverySettings(), 100),
        ] {
            let shard = Shard(settings, total: total)
            let streams = ["a", "b", "c"].map { shard.open($0) }
            for number in 0..<200 {
                shard.append(to: streams[number % 3])
                #expect(shard.streams.byteCount <= 100)
            }
        }
    }

    @Test("A message larger than the budget is dropped at once")
    func tinyBudget() {
        let shard = Shard(total: 5)
        let stream = shard.open("a")
        #expect(shard.append(to: stream) == [.retainedBytesTotal])
        #expect(shard.streams.byteCount == 0)
        #expect(shard.resume(stream, from: 0).0 == gap(.truncated, 1))
    }

    // MARK: - Vacant channels

    @Test("A channel without subscribers keeps messages for its window, then counts on")
    func vacant() {
        let shard = Shard()
        let stream = shard.open("a")
        shard.streams.becameVacant(stream, at: 0)
        shard.append(to: stream, at: 299)
        #expect(shard.resume(stream, from: 0, at: 299).1 == [1])
        shard.append(to: stream, at: 301)
        #expect(shard.resume(stream, from: 0, at: 301).0 == gap(.truncated, 2))
        #expect(shard.resume(stream, from: 2, at: 301).0 == .recovered(replay: 0))
        shard.streams.becameOccupied(stream)
        shard.append(to: stream, at: 302)
        #expect(shard.resume(stream, from: 2, at: 302).1 == [3])
    }

    @Test("A rule may keep messages of a channel that never had subscribers")
    func always() {
        let shard = Shard(RecoverySettings { $0.standard = RecoveryRule { $0.keep = .always } })
        let stream = shard.open("a", isVacant: true)
        shard.append(to: stream, at: 1_000)
        #expect(shard.resume(stream, from: 0, at: 1_000).1 == [1])
    }

    @Test("A vacant channel is forgotten after a day, with a new stream behind it")
    func forgotten() {
        let shard = Shard()
        let stream = shard.open("a")
        let id = shard.streams[stream].id
        shard.streams.becameVacant(stream, at: 0)
        shard.streams.removeExpired(at: 86_399_000)
        #expect(shard.has("a"))
        shard.streams.removeExpired(at: 86_400_000)
        #expect(!shard.has("a") && shard.streams.isEmpty)
        let again = shard.open("a")
        #expect(shard.streams[again].id != id)
        #expect(shard.resume(again, from: 0, of: id).0 == gap(.unknownStream))
    }

    @Test("A channel that got subscribers again is not forgotten")
    func returned() {
        let shard = Shard()
        let stream = shard.open("a")
        shard.streams.becameVacant(stream, at: 0)
        shard.streams.becameOccupied(stream)
        shard.streams.removeExpired(at: 90_000_000)
        #expect(shard.has("a"))
        shard.streams.becameVacant(stream, at: 90_000_000)
        shard.streams.removeExpired(at: 100_000_000)
        #expect(shard.has("a"))
    }

    @Test("Of too many vacant channels the one vacant longest is forgotten")
    func positions() {
        let shard = Shard(RecoverySettings { $0.positionsMax = 2 })
        let streams = ["a", "b", "c"].map { shard.open($0) }
        #expect(shard.streams.becameVacant(streams[0], at: 1) == nil)
        #expect(shard.streams.becameVacant(streams[1], at: 2) == nil)
        #expect(shard.streams.becameVacant(streams[2], at: 3) == .recoveryPositions)
        #expect(["a", "b", "c"].map(shard.has) == [false, true, true])
    }

    @Test("Channels on which nothing was published are forgotten first")
    func blankPositions() {
        let shard = Shard(RecoverySettings { $0.positionsMax = 2 })
        let news = shard.open("news")
        shard.append(to: news)
        shard.streams.becameVacant(news, at: 1)
        let blank = (0..<5).map { shard.open("blank-\($0)") }
        for (number, stream) in blank.enumerated() {
            let limit = shard.streams.becameVacant(stream, at: Int64(2 + number))
            #expect(limit == (number == 0 ? nil : .recoveryPositions))
            // Something was published on it, as if it had not been blank.
            if number == 0 { shard.append(to: stream) }
        }
        #expect(shard.has("news") && shard.has("blank-0"))
        #expect((1..<5).allSatisfy { !shard.has("blank-\($0)") })
    }

    @Test("A stream that is made for a message stays, also where all others have messages")
    func newPosition() {
        let shard = Shard(RecoverySettings { $0.positionsMax = 1 })
        let first = shard.open("a", isVacant: true)
        shard.append(to: first)
        let second = shard.open("b", isVacant: true)
        shard.append(to: second)
        #expect(["a", "b"].map(shard.has) == [false, true])
        #expect(shard.resume(second, from: 0).1 == [1])
    }

    @Test("Clients open so many public channels, and those of one address a part of them")
    func openedStreams() {
        let shard = Shard(RecoverySettings { $0.openedStreamsMax = 8 })
        func opens(_ channel: String, from addressDigest: UInt32) -> Int? {
            let name = try? ChannelName(channel)
            guard let name else { return nil }
            let address = ChannelAddress(app: AppID("1"), name: name)
            guard shard.streams.mayOpen(address, shard.settings, from: addressDigest) else {
                return nil
            }
            let stream = shard.open(channel)
            shard.streams.becameOccupied(stream)
            shard.streams.countOpened(stream, from: addressDigest)
            return stream
        }
        let first = (0..<5).map { opens("a\($0)", from: 1) }
        #expect(first.map { $0 != nil } == [true, true, true, true, false])
        // Who joins a channel that is open opens none, and private channels need a signature.
        #expect(opens("a0", from: 1) != nil && opens("private-a", from: 1) != nil)
        let others = [2, 2, 2, 3, 0, 0].enumerated().map { opens("b\($0)", from: UInt32($1)) }
        #expect(others.map { $0 != nil } == [true, true, false, true, true, false])
        #expect(shard.streams.usage(of: AppID("1")).openedCount == 8)
        // What is published on, or left, does not count.
        if let stream = first[0] { shard.append(to: stream) }
        if let stream = first[1] { _ = shard.streams.wasLeft(stream, at: 0) }
        #expect(shard.streams.usage(of: AppID("1")).openedCount == 6)
        #expect(opens("a5", from: 1) == nil && opens("a1", from: 4) != nil)
    }

    @Test("A stored channel without messages has one ID over restarts until it had some")
    func derivedIDs() {
        var seeds = StreamSeeds(from: 5)
        func start() -> Shard {
            let rule = RecoveryRule {
                $0.store = .archive
                $0.keep = .always
            }
            let shard = Shard(RecoverySettings { $0.standard = rule })
            shard.streams.useArchive(RowNumbers(from: 1, shard: 0, of: 1), seeds)
            return shard
        }
        let shard = start()
        let stream = shard.open("a")
        let id = shard.streams[stream].id
        // Who leaves it leaves nothing.
        #expect(shard.streams.wasLeft(stream, at: 0).isForgotten && shard.streams.isEmpty)
        let (again, other) = (start(), start())
        #expect(again.streams[again.open("a")].id == id)
        #expect(other.streams[other.open("b")].id != id)
        // With a message the archive knows it, and forgets it after a day.
        let known = shard.open("a")
        guard let row = shard.streams.mint(known)?.row else {
            Issue.record("the archive is not told")
            return
        }
        shard.append(to: known)
        #expect(shard.streams[known].id == id)
        #expect(!shard.streams.wasLeft(known, at: 0).isForgotten)
        shard.streams.removeExpired(at: 86_400_000)
        #expect(shard.streams.takeForgottenRows() == [row] && shard.streams.isEmpty)
        let next = shard.streams[shard.open("a")].id
        #expect(next != id)
        // The file agrees.
        seeds.forget(row, of: ChannelAddress(app: AppID("1"), name: shard.streams[0].address.name))
        let later = start()
        #expect(later.streams[later.open("a")].id == next)
    }

    @Test("Ten thousand random steps keep the sizes exact")
    func randomSteps() {
        var random = SplitMix64(state: 3)
        let rules = [
            RecoveryRule {
                $0.channelPrefix = "a"
                $0.messagesMax = 3
            },
            RecoveryRule {
                $0.channelPrefix = "b"
                $0.ageMax = 7
            },
        ]
        let shard = Shard(
            RecoverySettings {
                $0.rules = rules
                $0.retainedBytesMax = 400
                $0.positionsMax = 3
            },
            total: 600
        )
        let names = ["a1", "a2", "b1", "b2", "c1", "c2", "c3"]
        var occupied: Set<String> = []
        for step in 0..<10_000 {
            let now = Int64(step / 20)
            let name = names[Int.random(in: 0..<names.count, using: &random)]
            let stream = shard.open(name, isVacant: !occupied.contains(name), at: now)
            switch Int.random(in: 0..<10, using: &random) {
            case 0 where occupied.insert(name).inserted: shard.streams.becameOccupied(stream)
            case 1 where occupied.remove(name) != nil:
                shard.streams.becameVacant(stream, at: now * 1_000)
            case 2: shard.streams.removeExpired(at: now * 1_000)
            default: shard.append(to: stream, at: now)
            }
            let sizes = names.compactMap { name -> Int? in
                guard shard.has(name) else { return nil }
                return shard.streams[shard.open(name, at: now)].retainedByteCount
            }
            #expect(shard.streams.byteCount == sizes.reduce(0, +))
            #expect(shard.streams.byteCount <= 400)
        }
        shard.streams.removeExpired(at: 100_000_000_000)
        #expect(shard.streams.count == occupied.count && shard.streams.byteCount == 0)
    }
}
