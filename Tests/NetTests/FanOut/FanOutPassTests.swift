import Testing

@testable import Net

@Suite("Back-pressure of a group's fan-out") struct FanOutPassTests {
    /// Streams in one group whose peers read when the test says so, and a clock that it moves.
    private final class Crowd {
        final class Time { var milliseconds: Int64 = 1_000 }
        let time = Time()
        let reactor: Reactor
        let group: StreamGroup
        var owners: [Recorder] = []
        var streams: [Stream] = []
        var peers: [RawPeer] = []

        init(count: Int, queuedBytesMax: Int = 16 << 20) throws {
            let clock = LoopClock(
                now: { [time] in MonotonicTime(nanoseconds: time.milliseconds * 1_000_000) },
                unixTime: { 0 }
            )
            reactor = try Reactor(loop: EventLoop(name: "test"), clock: clock)
            group = reactor.makeGroup()
            for _ in 0..<count {
                let owner = Recorder()
                let (stream, peer) = try reactor.lonely(
                    owner,
                    limits: StreamLimits(queuedBytesMax: queuedBytesMax)
                )
                group.join(stream)
                owners.append(owner)
                streams.append(stream)
                peers.append(peer)
            }
        }

        /// Sends 64 KiB and turns, until the group's next walk waits for readers.
        ///
        /// - Parameter reading: The peers that read whatever comes.
        func publishUntilBehind(reading: Range<Int> = 0..<0) {
            for _ in 0..<1_000 where !group.isWaitingForReaders {
                group.send(Crowd.frame)
                turn(reading: reading)
            }
        }

        func turn(reading: Range<Int> = 0..<0) {
            reactor.turn(atMost: .zero)
            for index in reading { while peers[index].read()?.isEmpty == false {} }
            reactor.turn(atMost: .zero)
        }

        static let frame = [UInt8](repeating: 7, count: 64 << 10)
    }

    private final class Target: ReliefTarget {
        var count = 0
        func groupRelieved() { count += 1 }
    }

    @Test("What waits for a walk is counted until it has reached everybody")
    func countsWhatWaits() throws {
        let crowd = try Crowd(count: 3)
        defer { crowd.reactor.shutDown() }
        crowd.group.send([1, 2, 3])
        crowd.group.send([4, 5])
        #expect(crowd.reactor.inbound.byteCount == 5)
        crowd.turn()
        #expect(crowd.reactor.inbound.byteCount == 0)
        crowd.group.send([6])
        for stream in crowd.streams { crowd.group.leave(stream) }
        #expect(crowd.reactor.inbound.byteCount == 0)
    }

    @Test("A group is congested from 64 KiB on, and relieves its target once when a walk begins")
    func congestion() throws {
        let crowd = try Crowd(count: 1)
        defer { crowd.reactor.shutDown() }
        let target = Target()
        crowd.group.send([UInt8](repeating: 1, count: 65_535))
        #expect(!crowd.group.isCongested)
        crowd.group.send([1])
        #expect(crowd.group.isCongested)
        crowd.group.notifyRelief(target)
        crowd.reactor.relieveTargets()
        #expect(target.count == 0)
        crowd.turn()
        #expect(!crowd.group.isCongested)
        crowd.reactor.relieveTargets()
        crowd.reactor.relieveTargets()
        #expect(target.count == 1)
    }

    @Test("A group of which the last member leaves is not congested any more")
    func vacancyRelieves() throws {
        let crowd = try Crowd(count: 1)
        defer { crowd.reactor.shutDown() }
        let target = Target()
        crowd.group.send(Crowd.frame)
        crowd.group.notifyRelief(target)
        crowd.group.leave(crowd.streams[0])
        crowd.reactor.relieveTargets()
        #expect(target.count == 1 && !crowd.group.isCongested)
    }

    @Test("While more than half of the budget is used, a group takes one frame at a time")
    func fillingBudget() throws {
        let crowd = try Crowd(count: 1)
        defer { crowd.reactor.shutDown() }
        crowd.reactor.inbound.byteCountMax = 100
        crowd.group.send([1])
        #expect(!crowd.group.isCongested)
        crowd.group.send([UInt8](repeating: 2, count: 50))
        #expect(crowd.group.isCongested)
    }

    @Test("When most readers are behind, the next walk waits until few of them are")
    func waitsForTheMajority() throws {
        let crowd = try Crowd(count: 5)
        defer { crowd.reactor.shutDown() }
        crowd.publishUntilBehind()
        #expect(crowd.group.isWaitingForReaders && crowd.group.patience.behindCount == 5)
        let queued = crowd.streams.map(\.queuedByteCount)
        crowd.group.send(Crowd.frame)
        crowd.turn()
        #expect(crowd.streams.map(\.queuedByteCount) == queued)
        crowd.turn(reading: 0..<2)
        #expect(crowd.group.patience.behindCount == 3 && crowd.group.isWaitingForReaders)
        for _ in 0..<20 { crowd.turn(reading: 0..<3) }
        #expect(!crowd.group.isWaitingForReaders)
        #expect(crowd.streams[4].queuedByteCount > queued[4])
        // Nobody was closed, whatever was sent.
        #expect(crowd.owners.allSatisfy { $0.overflowCount == 0 })
    }

    @Test("A single reader that takes nothing delays nobody, and its queue overflows")
    func silentReader() throws {
        let crowd = try Crowd(count: 3, queuedBytesMax: 1 << 20)
        defer { crowd.reactor.shutDown() }
        for _ in 0..<40 {
            crowd.group.send(Crowd.frame)
            crowd.turn(reading: 0..<2)
            #expect(!crowd.group.isWaitingForReaders)
        }
        #expect(crowd.owners.map(\.overflowCount) == [0, 0, 1])
    }

    @Test("A single reader that is slower than the others delays them for at most half of the time")
    func slowReader() throws {
        let crowd = try Crowd(count: 3, queuedBytesMax: 1 << 20)
        defer { crowd.reactor.shutDown() }
        var waitedFor = 0
        for _ in 0..<1_000 where crowd.owners[2].overflowCount == 0 {
            if !crowd.group.isCongested { crowd.group.send(Crowd.frame) }
            crowd.turn(reading: 0..<2)
            _ = crowd.peers[2].read(atMost: 16 << 10)
            crowd.time.milliseconds += 10
            if crowd.group.isWaitingForReaders { waitedFor += 10 }
        }
        // The last wait may have begun a moment ago.
        #expect(waitedFor > 0 && waitedFor <= Int(crowd.time.milliseconds) / 2)
        #expect(crowd.owners.map(\.overflowCount) == [0, 0, 1])
    }

    @Test("Readers that take nothing are waited for once, and no longer than two seconds")
    func stalledReaders() throws {
        let crowd = try Crowd(count: 2)
        defer { crowd.reactor.shutDown() }
        crowd.publishUntilBehind()
        #expect(crowd.group.isWaitingForReaders)
        let queued = crowd.streams[0].queuedByteCount
        crowd.time.milliseconds += 1_990
        crowd.turn()
        #expect(crowd.streams[0].queuedByteCount == queued)
        crowd.time.milliseconds += 20
        crowd.turn()
        #expect(crowd.streams[0].queuedByteCount > queued)
        // They have shown that they do not read: from here on they fill their queues.
        for _ in 0..<10 {
            crowd.group.send(Crowd.frame)
            crowd.turn()
            #expect(!crowd.group.isWaitingForReaders)
        }
    }

    @Test("A reader that reads again after a stall is waited for again")
    func endOfAStall() throws {
        let crowd = try Crowd(count: 1)
        defer { crowd.reactor.shutDown() }
        crowd.publishUntilBehind()
        crowd.time.milliseconds += 2_010
        crowd.turn()
        #expect(crowd.streams[0].lag == .stalled)
        for _ in 0..<100 where crowd.streams[0].lag == .stalled {
            _ = crowd.peers[0].read(atMost: 64 << 10)
            crowd.turn()
        }
        #expect(crowd.streams[0].lag == .behind)
        crowd.group.send(Crowd.frame)
        crowd.turn()
        #expect(crowd.group.isWaitingForReaders)
    }

    @Test("The last reader that is behind may leave, end, or be closed", arguments: 0..<3)
    func departures(way: Int) throws {
        let crowd = try Crowd(count: 3)
        defer { crowd.reactor.shutDown() }
        crowd.publishUntilBehind(reading: 2..<3)
        #expect(crowd.group.patience.behindCount == 2)
        for stream in crowd.streams[..<2] {
            switch way {
            case 0: crowd.group.leave(stream)
            case 1: stream.abort()
            default: stream.close(within: .seconds(1))
            }
        }
        #expect(crowd.group.patience.behindCount == 0 && !crowd.group.isWaitingForReaders)
    }

    @Test("Batches as long as a turn's share are given to one member a turn")
    func longBatches() throws {
        let crowd = try Crowd(count: 3)
        defer { crowd.reactor.shutDown() }
        crowd.group.send([UInt8](repeating: 1, count: 3 << 20))
        var share = FanOutShare()
        #expect(!crowd.group.walk(&share))
        #expect(share.isUsedUp)
        #expect(crowd.streams.count { $0.queuedByteCount > 0 } == 1)
    }
}

extension StreamGroup {
    /// Whether the next walk waits for members to catch up.
    fileprivate var isWaitingForReaders: Bool {
        if case .readers = delay { true } else { false }
    }
}
