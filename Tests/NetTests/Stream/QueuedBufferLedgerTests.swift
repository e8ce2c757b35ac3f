import Testing

@testable import Net

@Suite("Memory of queued output") struct QueuedBufferLedgerTests {
    private static let overhead = QueuedBufferLedger.bufferOverhead
    private static let place = QueuedBufferLedger.slotLength

    /// Streams of one reactor whose peers do not read, all in one group.
    private struct TestGroup {
        let reactor: Reactor
        let group: StreamGroup
        var delegates: [Recorder] = []
        var streams: [Stream] = []
        var peers: [RawPeer] = []

        init(count: Int, budget: MemoryBudget? = nil) throws {
            reactor = try Reactor.forTest()
            group = reactor.makeGroup()
            for _ in 0..<count {
                let delegate = Recorder()
                delegate.budget = budget
                let (stream, peer) = try reactor.streamAndPeer(delegate)
                group.join(stream)
                delegates.append(delegate)
                streams.append(stream)
                peers.append(peer)
            }
        }

        /// Sends until the kernel's buffers of all streams are full.
        func fill() {
            while !streams.allSatisfy({ $0.flags.contains(.blocked) }) {
                group.send([UInt8](repeating: 1, count: 50_000))
                flush()
            }
        }

        /// Turns until every member has been served, which takes several turns.
        func flush() {
            repeat { reactor.turn(atMost: .zero) } while group.isDirty
        }
    }

    @Test func aFrameForManyIsCountedOnce() throws {
        let fixture = try TestGroup(count: 10)
        defer { fixture.reactor.shutDown() }
        fixture.fill()
        let before = fixture.reactor.queueBudget.byteCount
        fixture.group.send([UInt8](repeating: 2, count: 70_000))
        fixture.flush()
        let more = fixture.reactor.queueBudget.byteCount - before
        #expect(more == 70_000 + Self.overhead + 10 * Self.place)
        #expect(fixture.streams.allSatisfy { $0.queuedByteCount >= 70_000 })
    }

    @Test("Bytes that are read, dropped or closed are no longer counted", arguments: [0, 1, 2])
    func isLetGo(way: Int) throws {
        let fixture = try TestGroup(count: 3)
        defer { fixture.reactor.shutDown() }
        fixture.fill()
        for _ in 0..<10 {
            fixture.group.send(pattern(30_000))
            fixture.reactor.turn(atMost: .zero)
        }
        #expect(fixture.reactor.queueBudget.byteCount > 300_000)
        switch way {
        case 0: break
        case 1: for stream in fixture.streams { stream.discardQueue() }
        default: for stream in fixture.streams { stream.abort() }
        }
        fixture.reactor.run {
            for peer in fixture.peers { _ = peer.read() }
            return fixture.reactor.queueBudget.byteCount == 0
        }
    }

    @Test func bytesThatTheKernelAcceptsAreNotCounted() throws {
        let fixture = try TestGroup(count: 3)
        defer { fixture.reactor.shutDown() }
        for _ in 0..<100 {
            fixture.group.send(pattern(1_000))
            fixture.streams[0].write([1])
            fixture.streams[0].write([2])
            fixture.reactor.turn(atMost: .zero)
            for peer in fixture.peers { _ = peer.read() }
            #expect(fixture.reactor.queueBudget.byteCount == 0)
        }
    }

    @Test func theLongestQueueIsClosedFirst() throws {
        let fixture = try TestGroup(count: 3)
        defer { fixture.reactor.shutDown() }
        fixture.fill()
        // The second has a longer queue than the others.
        for (index, count) in [(0, 100_000), (1, 900_000), (2, 200_000)] {
            fixture.streams[index].write(pattern(count))
        }
        fixture.reactor.turn(atMost: .zero)
        let budget = fixture.reactor.queueBudget
        budget.byteCountMax = budget.byteCount + 1_000
        #expect(budget.isNearlyFull)
        fixture.streams[0].write(pattern(2_000))
        fixture.reactor.turn(atMost: .zero)
        #expect(fixture.delegates.map(\.isClosed) == [false, true, false])
        #expect(fixture.delegates[1].error == .memoryBudgetExceeded(limit: budget.byteCountMax))
        #expect(budget.byteCount < budget.byteCountMax)
    }

    @Test func aSeparateBudgetDoesNotAffectOtherStreams() throws {
        let budget = MemoryBudget(byteCountMax: 500_000)
        let fixture = try TestGroup(count: 2, budget: budget)
        defer { fixture.reactor.shutDown() }
        let (other, peer) = try fixture.reactor.streamAndPeer(Recorder())
        fixture.reactor.run {
            other.write(pattern(50_000))
            return other.flags.contains(.blocked)
        }
        other.write(pattern(5_000_000))
        fixture.fill()
        // No group, which would wait for its members to catch up.
        for _ in 0..<20 {
            for stream in fixture.streams { stream.write(pattern(50_000)) }
            fixture.reactor.turn(atMost: .zero)
        }
        let areClosed = fixture.delegates.allSatisfy { $0.isClosed }
        #expect(areClosed)
        #expect(!other.isClosing)
        #expect(budget.byteCount == 0)
        #expect(fixture.reactor.queueBudget.byteCount > 5_000_000)
        _ = peer
    }
}
