import Glibc
import Testing

@testable import Net

@Suite("Streams over real sockets") struct StreamTests {
    @Test(arguments: ["127.0.0.1", "::1"])
    func echoesInBothDirections(ip: String) throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let address = try #require(SocketAddress(ip: ip, port: 0))
        let server = Recorder.echo()
        let listener = try reactor.listen(on: address) { _ in server }
        let client = Recorder()
        let stream = try reactor.connect(to: listener.address, timeout: .seconds(5), owner: client)
        stream.write(Array("hello, ".utf8))
        stream.write(Array("world".utf8))
        reactor.run { client.received.count == 12 }
        #expect(client.received == Array("hello, world".utf8))
        #expect(client.openedCount == 1 && server.openedCount == 1)
        #expect(listener.acceptedCount == 1)
        stream.close(within: .seconds(5))
        reactor.run { client.isClosed && server.isClosed }
        #expect(client.error == nil && server.error == nil)
        #expect(server.endCount == 1)
        #expect(reactor.streamCount == 0)
    }

    @Test func carriesALargeTransferThroughShortWrites() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let server = Recorder.echo()
        let address = try #require(SocketAddress(ip: "127.0.0.1", port: 0))
        let listener = try reactor.listen(on: address) { _ in server }
        let client = Recorder()
        let stream = try reactor.connect(to: listener.address, timeout: .seconds(5), owner: client)
        let bytes = pattern(6 << 20)
        var start = 0
        // Pieces of every size up to 100 kB, hundreds of buffers in one queue.
        var size = 1
        while start < bytes.count {
            let end = min(start + size, bytes.count)
            stream.write(Array(bytes[start..<end]))
            start = end
            size = size * 3 % 100_003
        }
        reactor.run { client.received.count >= bytes.count }
        #expect(client.received.elementsEqual(bytes))
        #expect(client.drainedCount > 0)
        #expect(stream.queuedByteCount == 0)
    }

    @Test("An owner that takes little at a time is lent the rest turn by turn, behind others")
    func lendsAgain() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let busy = Recorder()
        var lentMax = 0
        var turns: [Character] = []
        busy.onBytes = { stream, bytes in
            turns.append("b")
            lentMax = max(lentMax, bytes.count)
            if bytes.count > 100 { stream.lendAgain() }
            return min(bytes.count, 100)
        }
        let (_, flood) = try reactor.lonely(busy)
        let other = Recorder()
        other.onBytes = { _, bytes in
            turns.append("o")
            return bytes.count
        }
        let (_, friend) = try reactor.lonely(other)
        let bytes = pattern(10_000)
        #expect(flood.write(bytes) == bytes.count)
        reactor.run { turns.count == 3 }
        // Neither this nor the end is read before the rest is consumed.
        #expect(flood.write(bytes) == bytes.count)
        flood.endWriting()
        #expect(friend.write([1]) == 1)
        reactor.run { turns.contains("o") }
        #expect(turns.count < 10)
        reactor.run { busy.isClosed }
        #expect(busy.received == bytes + bytes)
        #expect(lentMax <= bytes.count + 100)
        #expect(busy.endCount == 1)
    }

    @Test("An event of a stream that another owner closed in the same turn is not its successor's")
    func closedInTheSameTurn() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let owners = [Recorder(), Recorder()]
        let guests = try owners.map { try reactor.lonely($0) }
        let heir = Recorder()
        var successors: [(stream: Stream, peer: RawPeer)] = []
        for (owner, other) in zip(owners, guests.reversed()) {
            owner.onBytes = { _, bytes in
                other.stream.abort()
                // The kernel gives the lowest number, which is the one that has just become free.
                if let successor = try? reactor.lonely(heir) { successors.append(successor) }
                return bytes.count
            }
        }
        for guest in guests {
            #expect(guest.peer.write([1]) == 1)
            guest.peer.endWriting()
        }
        reactor.settle()
        #expect(owners.map(\.received.count).sorted() == [0, 1])
        #expect(successors.count == 1)
        #expect(successors.allSatisfy { $0.stream.flags.isDisjoint(with: [.hungUp, .broken]) })
        #expect(heir.received.isEmpty && heir.endCount == 0 && !heir.isClosed)
    }

    @Test func doesNotWaitForAPeerThatIsDone() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let owner = Recorder()
        owner.onBytes = { stream, bytes in
            stream.write(Array("farewell".utf8))
            stream.close(within: .seconds(30), peerIsDone: true)
            return bytes.count
        }
        let (stream, peer) = try reactor.lonely(owner)
        stream.write(Array("hello, ".utf8))
        peer.write(Array("bye".utf8))
        // The peer keeps its side open all the time.
        reactor.run { owner.isClosed }
        #expect(owner.error == nil && reactor.streamCount == 0)
        #expect(peer.read() == Array("hello, farewell".utf8))
        #expect(peer.read() == nil)
    }

    @Test func writesAllToAPeerThatIsDoneBeforeItCloses() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let owner = Recorder()
        let (stream, peer) = try reactor.lonely(owner)
        let bytes = pattern(8 << 20)
        stream.write(bytes)
        stream.close(within: .seconds(30), peerIsDone: true)
        #expect(!stream.isClosed)
        var received: [UInt8] = []
        reactor.run {
            while let part = peer.read(), !part.isEmpty { received += part }
            return owner.isClosed
        }
        while let part = peer.read(), !part.isEmpty { received += part }
        #expect(received == bytes)
        #expect(owner.error == nil)
    }

    @Test("Last words leave in one segment with the end", arguments: [true, false])
    func sparesASegment(peerIsDone: Bool) throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        var accepted: [Stream] = []
        let listener = try reactor.listen(on: #require(SocketAddress(ip: "127.0.0.1", port: 0))) {
            accepted.append($0)
            return Recorder()
        }
        let peer = try RawPeer(to: listener.address)
        reactor.run { accepted.count == 1 }
        let before = peer.segmentsReceived
        accepted[0].write(Array("last ".utf8))
        accepted[0].write(Array("words".utf8))
        accepted[0].close(within: .seconds(5), peerIsDone: peerIsDone)
        reactor.settle()
        #expect(peer.read() == Array("last words".utf8))
        #expect(peer.hasEnded)
        #expect(peer.segmentsReceived - before == 1)
    }

    @Test func letsGoOfItsOwnerWhenItHasEnded() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        weak var owner: Holder?
        weak var stream: Net.Stream?
        let address = try #require(SocketAddress(ip: "127.0.0.1", port: 0))
        let listener = try reactor.listen(on: address) { accepted in
            let holder = Holder(accepted)
            (owner, stream) = (holder, accepted)
            return holder
        }
        let client = Recorder()
        let connection = try reactor.connect(
            to: listener.address,
            timeout: .seconds(5),
            owner: client
        )
        reactor.run { stream?.isOpen == true }
        connection.close(within: .seconds(5))
        reactor.run { reactor.streamCount == 0 }
        #expect(owner == nil)
        #expect(stream == nil)
    }

    /// Holds its stream, as owners do.
    private final class Holder: StreamDelegate {
        let stream: Net.Stream

        init(_ stream: Net.Stream) { self.stream = stream }

        func stream(_ stream: Net.Stream, received bytes: inout MutableSpan<UInt8>) -> Int {
            bytes.count
        }

        func streamClosed(_ stream: Net.Stream, error: StreamError?) {}
    }

    @Test func lendsAgainWhatWasNotConsumed() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let owner = Recorder()
        // Consumes whole lines only.
        owner.onBytes = { _, bytes in bytes.lastIndex(of: 10).map { $0 + 1 } ?? 0 }
        let (stream, peer) = try reactor.lonely(owner)
        peer.write(Array("one\ntw".utf8))
        reactor.run { owner.received.count == 4 }
        #expect(stream.unread == Array("tw".utf8))
        peer.write(Array("o".utf8))
        reactor.run { stream.unread == Array("two".utf8) }
        peer.write(Array("\n".utf8))
        reactor.run { owner.received == Array("one\ntwo\n".utf8) }
        #expect(stream.unread.isEmpty)
    }

    @Test(arguments: [1, 1_000, 40_000, 70_000, 300_000])
    func keepsAnyAmountUntilItIsEnough(wanted: Int) throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let owner = Recorder()
        owner.onBytes = { _, bytes in bytes.count / wanted * wanted }
        let other = Recorder()
        let (left, _) = try reactor.pair(other, owner)
        let bytes = pattern(wanted * 3)
        var start = 0
        while start < bytes.count {
            let end = min(start + 9_973, bytes.count)
            left.write(Array(bytes[start..<end]))
            start = end
            reactor.settle()
        }
        reactor.run { owner.received.count == bytes.count }
        #expect(owner.received.elementsEqual(bytes))
    }

    @Test func givesASuccessorTheRestAtOnce() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let (first, second) = (Recorder(), Recorder())
        first.onBytes = { stream, _ in
            stream.owner = second
            return 3
        }
        let (stream, peer) = try reactor.lonely(first)
        peer.write(Array("GETrest".utf8))
        reactor.run { !second.received.isEmpty }
        #expect(first.received == Array("GET".utf8))
        #expect(second.received == Array("rest".utf8))
        // A change at some other time lends what was kept, too.
        let third = Recorder()
        second.onBytes = { _, _ in 0 }
        peer.write(Array("kept".utf8))
        reactor.run { stream.unread.count == 4 }
        stream.owner = third
        reactor.run { third.received == Array("kept".utf8) }
    }

    @Test func changesBytesInPlace() throws {
        final class Upper: StreamDelegate {
            func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int {
                for index in bytes.indices { bytes[index] &= 0xDF }
                var copy: [UInt8] = []
                for index in bytes.indices { copy.append(bytes[index]) }
                stream.write(copy)
                return bytes.count
            }
            func streamClosed(_ stream: Stream, error: StreamError?) {}
        }
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let (_, peer) = try reactor.lonely(Upper())
        peer.write(Array("shout".utf8))
        var answer: [UInt8] = []
        reactor.run {
            answer += peer.read() ?? []
            return answer.count == 5
        }
        #expect(answer == Array("SHOUT".utf8))
    }

    @Test("A pause for the queue ends even if the kernel takes it all at once")
    func tellsAPausedOwnerThatItsQueueIsEmpty() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let server = Recorder()
        server.onBytes = { stream, bytes in
            stream.write(bytes)
            stream.pauseReading()
            return bytes.count
        }
        server.onDrain = { $0.resumeReading() }
        let client = Recorder()
        let streams = try reactor.pair(client, server)
        for count in 1...3 {
            streams.left.write([UInt8(count)])
            reactor.run { client.received.count == count }
            #expect(server.drainedCount == count)
        }
        #expect(client.received == [1, 2, 3])
    }

    @Test func pausesAndResumes() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let owner = Recorder()
        owner.onBytes = { stream, bytes in
            stream.pauseReading()
            return min(2, bytes.count)
        }
        let (stream, peer) = try reactor.lonely(owner)
        peer.write(Array("abcdef".utf8))
        reactor.run { owner.received.count == 2 }
        peer.write(Array("gh".utf8))
        reactor.settle()
        #expect(owner.received == Array("ab".utf8))
        stream.resumeReading()
        reactor.run { owner.received.count == 4 }
        reactor.settle()
        #expect(owner.received == Array("abcd".utf8))
        owner.onBytes = nil
        stream.resumeReading()
        reactor.run { owner.received.count == 8 }
        #expect(owner.received == Array("abcdefgh".utf8))
        // The end comes last, although it came while reading was paused.
        stream.pauseReading()
        peer.write(Array("i".utf8))
        peer.close()
        reactor.settle()
        #expect(owner.endCount == 0)
        stream.resumeReading()
        reactor.run { owner.isClosed }
        #expect(owner.received == Array("abcdefghi".utf8))
        #expect(owner.endCount == 1 && owner.error == nil)
    }

    @Test func doesNotLetABusyStreamStarveAnother() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let (busy, quiet, source) = (Recorder(), Recorder(), Recorder())
        let (left, _) = try reactor.pair(source, busy)
        let (_, peer) = try reactor.lonely(quiet)
        var lentBeforeQuiet = 0
        quiet.onBytes = { _, bytes in
            lentBeforeQuiet = busy.received.count
            return bytes.count
        }
        for _ in 0..<8 { left.write(pattern(1 << 20)) }
        peer.write([1])
        reactor.run { !quiet.received.isEmpty }
        #expect(lentBeforeQuiet <= (64 << 10) * Stream.readCountMax)
        reactor.run { busy.received.count == 8 << 20 }
    }

    @Test func tellsOfTheEndAndStillWrites() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let owner = Recorder()
        owner.onEnd = { stream in
            stream.write(Array("after your end".utf8))
            stream.close(within: .seconds(5))
        }
        let (_, peer) = try reactor.lonely(owner)
        peer.write(Array("last".utf8))
        peer.endWriting()
        reactor.run { owner.isClosed }
        #expect(owner.received == Array("last".utf8))
        #expect(owner.error == nil)
        #expect(peer.read() == Array("after your end".utf8))
        #expect(peer.read() == nil)
    }

    @Test func closesInOrder() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let owner = Recorder()
        let (stream, peer) = try reactor.lonely(owner)
        stream.write(Array("bye".utf8))
        stream.close(within: .seconds(30))
        #expect(stream.isClosing)
        stream.write(Array("too late".utf8))
        reactor.settle()
        #expect(peer.read() == Array("bye".utf8))
        // Our end is there, and the stream waits for the peer's, dropping what it says.
        #expect(peer.read() == nil)
        peer.write(Array("what?".utf8))
        reactor.settle()
        #expect(!owner.isClosed && owner.received.isEmpty)
        peer.endWriting()
        reactor.run { owner.isClosed }
        #expect(owner.error == nil && owner.endCount == 0 && owner.closedCount == 1)
    }

    @Test func doesNotWaitForEverForThePeersEnd() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let owner = Recorder()
        let (stream, peer) = try reactor.lonely(owner)
        stream.close(within: .milliseconds(20))
        reactor.run { owner.isClosed }
        #expect(owner.error == .closeTimedOut)
        #expect(peer.read() == nil)
    }

    @Test func abortsAtOnceAndTellsOnce() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let owner = Recorder()
        let (stream, peer) = try reactor.lonely(owner)
        stream.write([1, 2, 3])
        stream.abort()
        stream.abort()
        // Not from inside the call: the caller may be in the middle of its own tables.
        #expect(!owner.isClosed && stream.isClosed)
        reactor.settle()
        #expect(owner.closedCount == 1 && owner.error == nil)
        #expect(peer.read() == nil)
    }

    @Test func toleratesAnOwnerThatEndsTheStreamWhileReading() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        for ending in [{ $0.abort() }, { $0.close(within: .zero) }] as [(Stream) -> Void] {
            let owner = Recorder()
            owner.onBytes = { stream, _ in
                ending(stream)
                return 1
            }
            let (_, peer) = try reactor.lonely(owner)
            peer.write(pattern(200_000))
            reactor.run { owner.isClosed }
            #expect(owner.received.count == 1)
        }
    }

    @Test func tellsTheOwnerOfAReaderThatStops() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let owner = Recorder()
        let limits = StreamLimits(queuedBytesMax: 1 << 20)
        let (stream, peer) = try reactor.lonely(owner, limits: limits)
        let frame = pattern(50_000)
        owner.onOverflow = { stream in
            stream.discardQueue()
            stream.write(Array("too slow".utf8))
            stream.close(within: .seconds(20))
        }
        reactor.run {
            stream.write(frame)
            return owner.overflowCount > 0
        }
        #expect(owner.overflowCount == 1)
        #expect(stream.queuedByteCount < frame.count + 9)
        var received: [UInt8] = []
        reactor.run {
            received += peer.read() ?? []
            return received.suffix(8) == Array("too slow".utf8)
        }
        #expect((received.count - 8) % frame.count == 0)
        peer.close()
        reactor.run { owner.isClosed }
    }

    @Test func abortsAnOverflowThatNobodyDealsWith() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let owner = Recorder()
        let limits = StreamLimits(queuedBytesMax: 100_000)
        let (stream, peer) = try reactor.lonely(owner, limits: limits)
        reactor.run {
            stream.write(pattern(50_000))
            return owner.isClosed
        }
        guard case .overflow(let queued, 100_000) = owner.error else {
            Issue.record("\(String(describing: owner.error))")
            return
        }
        #expect(queued > 100_000)
        _ = peer
    }

    @Test("Events tell of room in the kernel's buffer from the first time on that there is none")
    func awaitsRoomOnceThereIsNone() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let (stream, peer) = try reactor.lonely(Recorder())
        let bytes = pattern(50_000)
        stream.write(bytes)
        reactor.settle()
        #expect(peer.read() == bytes && !stream.flags.contains(.awaitsRoom))
        var written = 0
        for _ in 0..<2 {
            reactor.run {
                stream.write(bytes)
                written += bytes.count
                return stream.flags.contains(.blocked)
            }
            #expect(stream.flags.contains(.awaitsRoom))
            reactor.run {
                written -= peer.read()?.count ?? 0
                return written == 0
            }
            #expect(stream.queuedByteCount == 0 && !stream.flags.contains(.blocked))
        }
    }

    @Test func takesABurstThatTheKernelTakes() throws {
        // More than the limit within one turn is no overflow while the kernel accepts it.
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let owner = Recorder()
        let (stream, peer) = try reactor.lonely(owner, limits: StreamLimits(queuedBytesMax: 100))
        for _ in 0..<100 { stream.write(pattern(30)) }
        reactor.settle()
        #expect(owner.overflowCount == 0)
        #expect(peer.read()?.count == 3_000)
    }

    @Test func noticesALostPeerWhenWriting() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let owner = Recorder()
        let (stream, peer) = try reactor.lonely(owner)
        stream.pauseReading()
        peer.close()
        reactor.run {
            stream.write([1])
            return owner.isClosed
        }
        // EPIPE as an error, not as a SIGPIPE that would have ended this test.
        #expect(owner.error == .system(SystemError(call: "sendmsg", code: EPIPE)))
    }

    @Test func refusesToBeConnectedToNobody() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let address = try #require(SocketAddress(ip: "127.0.0.1", port: 0))
        let listener = try reactor.listen(on: address) { _ in Recorder() }
        let free = listener.address
        listener.close()
        let client = Recorder()
        _ = try reactor.connect(to: free, timeout: .seconds(5), owner: client)
        #expect(!client.isClosed)
        reactor.run { client.isClosed }
        #expect(client.error == .system(SystemError(call: "connect", code: ECONNREFUSED)))
        #expect(client.openedCount == 0)
    }

    @Test func givesUpAConnectionThatIsNotAnswered() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        // A listener whose backlog is full drops the SYNs of later ones.
        let address = try #require(SocketAddress(ip: "127.0.0.1", port: 0))
        let silent = try Socket.listen(on: address, backlog: 0, reusePort: false)
        let bound = try #require(SocketAddress(of: silent.raw) { getsockname($0, $1, &$2) })
        var clients: [Recorder] = []
        for _ in 0..<4 {
            let client = Recorder()
            _ = try reactor.connect(to: bound, timeout: .milliseconds(50), owner: client)
            clients.append(client)
        }
        reactor.run { clients.contains { $0.isClosed } }
        #expect(clients.first { $0.isClosed }?.error == .connectTimedOut)
    }

    @Test func endsEverythingAtShutDown() throws {
        let reactor = try Reactor.forTest()
        let (left, right) = (Recorder(), Recorder())
        let pair = try reactor.pair(left, right)
        pair.left.write([1])
        reactor.shutDown()
        #expect(left.error == .shutDown && right.error == .shutDown)
        #expect(reactor.streamCount == 0)
    }
}
