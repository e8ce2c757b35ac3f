import Testing

@testable import Net

@Suite("What queues hold") struct QueuedBufferLedgerTests {
    private static let overhead = QueuedBufferLedger.bufferOverhead
    private static let place = QueuedBufferLedger.placeLength

    /// Streams of one reactor whose peers do not read, all in one group.
    private struct Crowd {
        let reactor: Reactor
        let group: StreamGroup
        var owners: [Recorder] = []
        var streams: [Stream] = []
        var peers: [RawPeer] = []

        init(count: Int, account: MemoryBudget? = nil) throws {
            reactor = try Reactor.forTest()
            group = reactor.makeGroup()
            for _ in 0..<count {
                let owner = Recorder()
                owner.account = account
                let (stream, peer) = try reactor.lonely(owner)
                group.join(stream)
                owners.append(owner)
                streams.append(stream)
                peers.append(peer)
            }
        }

        /// Sends until the kernel has taken all that it takes of everybody.
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

    @Test func aFrameForManyIsHeldOnce() throws {
        let crowd = try Crowd(count: 10)
        defer { crowd.reactor.shutDown() }
        crowd.fill()
        let before = crowd.reactor.queueAccount.byteCount
        crowd.group.send([UInt8](repeating: 2, count: 70_000))
        crowd.flush()
        let more = crowd.reactor.queueAccount.byteCount - before
        #expect(more == 70_000 + Self.overhead + 10 * Self.place)
        #expect(crowd.streams.allSatisfy { $0.queuedByteCount >= 70_000 })
    }

    @Test("What is read, dropped or closed is held no longer", arguments: [0, 1, 2])
    func isLetGo(way: Int) throws {
        let crowd = try Crowd(count: 3)
        defer { crowd.reactor.shutDown() }
        crowd.fill()
        for _ in 0..<10 {
            crowd.group.send(pattern(30_000))
            crowd.reactor.turn(atMost: .zero)
        }
        #expect(crowd.reactor.queueAccount.byteCount > 300_000)
        switch way {
        case 0: break
        case 1: for stream in crowd.streams { stream.discardQueue() }
        default: for stream in crowd.streams { stream.abort() }
        }
        crowd.reactor.run {
            for peer in crowd.peers { _ = peer.read() }
            return crowd.reactor.queueAccount.byteCount == 0
        }
    }

    @Test func whatTheKernelTakesIsNotHeld() throws {
        let crowd = try Crowd(count: 3)
        defer { crowd.reactor.shutDown() }
        for _ in 0..<100 {
            crowd.group.send(pattern(1_000))
            crowd.streams[0].write([1])
            crowd.streams[0].write([2])
            crowd.reactor.turn(atMost: .zero)
            for peer in crowd.peers { _ = peer.read() }
            #expect(crowd.reactor.queueAccount.byteCount == 0)
        }
    }

    @Test func theLongestQueueIsGivenUpFirst() throws {
        let crowd = try Crowd(count: 3)
        defer { crowd.reactor.shutDown() }
        crowd.fill()
        // The second has more to wait for than the others.
        for (index, count) in [(0, 100_000), (1, 900_000), (2, 200_000)] {
            crowd.streams[index].write(pattern(count))
        }
        crowd.reactor.turn(atMost: .zero)
        let account = crowd.reactor.queueAccount
        account.byteCountMax = account.byteCount + 1_000
        #expect(account.isNearlyFull)
        crowd.streams[0].write(pattern(2_000))
        crowd.reactor.turn(atMost: .zero)
        #expect(crowd.owners.map(\.isClosed) == [false, true, false])
        #expect(crowd.owners[1].error == .overdrawn(limit: account.byteCountMax))
        #expect(account.byteCount < account.byteCountMax)
    }

    @Test func anAccountOfItsOwnBothersNobodyElse() throws {
        let account = MemoryBudget(byteCountMax: 500_000)
        let crowd = try Crowd(count: 2, account: account)
        defer { crowd.reactor.shutDown() }
        let (other, peer) = try crowd.reactor.lonely(Recorder())
        crowd.reactor.run {
            other.write(pattern(50_000))
            return other.flags.contains(.blocked)
        }
        other.write(pattern(5_000_000))
        crowd.fill()
        // A group would wait for its members to catch up.
        for _ in 0..<20 {
            for stream in crowd.streams { stream.write(pattern(50_000)) }
            crowd.reactor.turn(atMost: .zero)
        }
        let areClosed = crowd.owners.allSatisfy { $0.isClosed }
        #expect(areClosed)
        #expect(!other.isClosing)
        #expect(account.byteCount == 0)
        #expect(crowd.reactor.queueAccount.byteCount > 5_000_000)
        _ = peer
    }
}
