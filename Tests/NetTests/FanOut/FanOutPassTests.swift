import Testing

@testable import Net

@Suite("Back-pressure of a group's fan-out") struct FanOutPassTests {
    /// Streams in one group whose peers the test reads, and a clock that it sets.
    private final class TestGroup {
        final class Time { var milliseconds: Int64 = 1_000 }
        let time = Time()
        let reactor: Reactor
        let group: StreamGroup
        var delegates: [Recorder] = []
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
                let delegate = Recorder()
                let (stream, peer) = try reactor.streamAndPeer(
                    delegate,
                    limits: StreamLimits(queuedBytesMax: queuedBytesMax)
                )
                group.join(stream)
                delegates.append(delegate)
                streams.append(stream)
                peers.append(peer)
            }
        }

        /// Sends 64 KiB per turn until the group's next pass waits for readers.
        ///
        /// - Parameter reading: The peers that read everything.
        func publishUntilBehind(reading: Range<Int> = 0..<0) {
            for _ in 0..<1_000 where !group.isWaitingForReaders {
                group.send(TestGroup.frame)
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

    @Test("Frames that wait for a pass are counted until all members have got them")
    func countsWhatWaits() throws {
        let fixture = try TestGroup(count: 3)
        defer { fixture.reactor.shutDown() }
        fixture.group.send([1, 2, 3])
        fixture.group.send([4, 5])
        #expect(fixture.reactor.inbound.byteCount == 5)
        fixture.turn()
        #expect(fixture.reactor.inbound.byteCount == 0)
        fixture.group.send([6])
        for stream in fixture.streams { fixture.group.leave(stream) }
        #expect(fixture.reactor.inbound.byteCount == 0)
    }

    @Test("A group is congested from 64 KiB on, and relieves its target once when a pass begins")
    func congestion() throws {
        let fixture = try TestGroup(count: 1)
        defer { fixture.reactor.shutDown() }
        let target = Target()
        fixture.group.send([UInt8](repeating: 1, count: 65_535))
        #expect(!fixture.group.isCongested)
        fixture.group.send([1])
        #expect(fixture.group.isCongested)
        fixture.group.notifyRelief(target)
        fixture.reactor.relieveTargets()
        #expect(target.count == 0)
        fixture.turn()
        #expect(!fixture.group.isCongested)
        fixture.reactor.relieveTargets()
        fixture.reactor.relieveTargets()
        #expect(target.count == 1)
    }

    @Test("A group without members is not congested")
    func vacancyRelieves() throws {
        let fixture = try TestGroup(count: 1)
        defer { fixture.reactor.shutDown() }
        let target = Target()
        fixture.group.send(TestGroup.frame)
        fixture.group.notifyRelief(target)
        fixture.group.leave(fixture.streams[0])
        fixture.reactor.relieveTargets()
        #expect(target.count == 1 && !fixture.group.isCongested)
    }

    @Test("While more than half of the budget is used, a group takes one frame at a time")
    func fillingBudget() throws {
        let fixture = try TestGroup(count: 1)
        defer { fixture.reactor.shutDown() }
        fixture.reactor.inbound.byteCountMax = 100
        fixture.group.send([1])
        #expect(!fixture.group.isCongested)
        fixture.group.send([UInt8](repeating: 2, count: 50))
        #expect(fixture.group.isCongested)
    }

    @Test("When most readers are behind, the next pass waits until few of them are")
    func waitsForTheMajority() throws {
        let fixture = try TestGroup(count: 5)
        defer { fixture.reactor.shutDown() }
        fixture.publishUntilBehind()
        #expect(fixture.group.isWaitingForReaders && fixture.group.readerWait.behindCount == 5)
        let queued = fixture.streams.map(\.queuedByteCount)
        fixture.group.send(TestGroup.frame)
        fixture.turn()
        #expect(fixture.streams.map(\.queuedByteCount) == queued)
        fixture.turn(reading: 0..<2)
        #expect(fixture.group.readerWait.behindCount == 3 && fixture.group.isWaitingForReaders)
        for _ in 0..<20 { fixture.turn(reading: 0..<3) }
        #expect(!fixture.group.isWaitingForReaders)
        #expect(fixture.streams[4].queuedByteCount > queued[4])
        // No stream was closed.
        #expect(fixture.delegates.allSatisfy { $0.overflowCount == 0 })
    }

    @Test("A single stalled reader does not delay the others, and its queue overflows")
    func silentReader() throws {
        let fixture = try TestGroup(count: 3, queuedBytesMax: 1 << 20)
        defer { fixture.reactor.shutDown() }
        for _ in 0..<40 {
            fixture.group.send(TestGroup.frame)
            fixture.turn(reading: 0..<2)
            #expect(!fixture.group.isWaitingForReaders)
        }
        #expect(fixture.delegates.map(\.overflowCount) == [0, 0, 1])
    }

    @Test("A single reader that is slower than the others delays them for at most half of the time")
    func slowReader() throws {
        let fixture = try TestGroup(count: 3, queuedBytesMax: 1 << 20)
        defer { fixture.reactor.shutDown() }
        var waitedFor = 0
        for _ in 0..<1_000 where fixture.delegates[2].overflowCount == 0 {
            if !fixture.group.isCongested { fixture.group.send(TestGroup.frame) }
            fixture.turn(reading: 0..<2)
            _ = fixture.peers[2].read(atMost: 16 << 10)
            fixture.time.milliseconds += 10
            if fixture.group.isWaitingForReaders { waitedFor += 10 }
        }
        // The last wait may just have begun.
        #expect(waitedFor > 0 && waitedFor <= Int(fixture.time.milliseconds) / 2)
        #expect(fixture.delegates.map(\.overflowCount) == [0, 0, 1])
    }

    @Test("A pass waits for stalled readers once, and for at most two seconds")
    func stalledReaders() throws {
        let fixture = try TestGroup(count: 2)
        defer { fixture.reactor.shutDown() }
        fixture.publishUntilBehind()
        #expect(fixture.group.isWaitingForReaders)
        let queued = fixture.streams[0].queuedByteCount
        fixture.time.milliseconds += 1_990
        fixture.turn()
        #expect(fixture.streams[0].queuedByteCount == queued)
        fixture.time.milliseconds += 20
        fixture.turn()
        #expect(fixture.streams[0].queuedByteCount > queued)
        // They count as stalled: from here on they fill their queues.
        for _ in 0..<10 {
            fixture.group.send(TestGroup.frame)
            fixture.turn()
            #expect(!fixture.group.isWaitingForReaders)
        }
    }

    @Test("A pass waits again for a reader that has recovered from a stall")
    func endOfAStall() throws {
        let fixture = try TestGroup(count: 1)
        defer { fixture.reactor.shutDown() }
        fixture.publishUntilBehind()
        fixture.time.milliseconds += 2_010
        fixture.turn()
        #expect(fixture.streams[0].lag == .stalled)
        for _ in 0..<100 where fixture.streams[0].lag == .stalled {
            _ = fixture.peers[0].read(atMost: 64 << 10)
            fixture.turn()
        }
        #expect(fixture.streams[0].lag == .behind)
        fixture.group.send(TestGroup.frame)
        fixture.turn()
        #expect(fixture.group.isWaitingForReaders)
    }

    @Test("The last reader that is behind may leave, end, or be closed", arguments: 0..<3)
    func departures(way: Int) throws {
        let fixture = try TestGroup(count: 3)
        defer { fixture.reactor.shutDown() }
        fixture.publishUntilBehind(reading: 2..<3)
        #expect(fixture.group.readerWait.behindCount == 2)
        for stream in fixture.streams[..<2] {
            switch way {
            case 0: fixture.group.leave(stream)
            case 1: stream.abort()
            default: stream.close(within: .seconds(1))
            }
        }
        #expect(fixture.group.readerWait.behindCount == 0 && !fixture.group.isWaitingForReaders)
    }

    @Test("A batch as long as a turn's budget is sent to one member per turn")
    func longBatches() throws {
        let fixture = try TestGroup(count: 3)
        defer { fixture.reactor.shutDown() }
        fixture.group.send([UInt8](repeating: 1, count: 3 << 20))
        var budget = FanOutBudget()
        #expect(!fixture.group.runPass(&budget))
        #expect(budget.isExhausted)
        #expect(fixture.streams.count { $0.queuedByteCount > 0 } == 1)
    }
}

extension StreamGroup {
    /// Whether the next pass waits for members to catch up.
    fileprivate var isWaitingForReaders: Bool {
        if case .readers = delay { true } else { false }
    }
}
