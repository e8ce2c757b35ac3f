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
        let listener = try reactor.listen(on: address) { _, _ in server }
        let client = Recorder()
        let stream = try reactor.connect(
            to: listener.address,
            timeout: .seconds(5),
            delegate: client
        )
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
        let listener = try reactor.listen(on: address) { _, _ in server }
        let client = Recorder()
        let stream = try reactor.connect(
            to: listener.address,
            timeout: .seconds(5),
            delegate: client
        )
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

    @Test("In a long turn one stream ends, and the others after what arrives meanwhile")
    func endsInTurn() throws {
        var now = MonotonicTime(nanoseconds: 1_000_000_000)
        let clock = LoopClock(now: { now }, unixTime: { 1_700_000_000 })
        let reactor = try Reactor(loop: EventLoop(name: "test"), clock: clock)
        defer { reactor.shutDown() }
        var endCounts: [Int] = []
        var endCount = 0
        let peers = try (0..<20)
            .map { _ in
                let leaving = Recorder()
                leaving.onEnd = { stream in
                    endCount += 1
                    now = now.advanced(by: .milliseconds(2))
                    stream.close(within: .seconds(5))
                }
                return try reactor.streamAndPeer(leaving).peer
            }
        let other = Recorder()
        other.onBytes = { _, bytes in
            endCounts.append(endCount)
            return bytes.count
        }
        let friend = try reactor.streamAndPeer(other).peer
        reactor.settle()

        for peer in peers { peer.close() }
        for _ in 0..<20 {
            friend.write([1])
            reactor.turn(atMost: .zero)
        }
        #expect(endCounts == Array(1...20))
    }

    @Test("Bytes that a delegate does not consume are delivered turn by turn, after other streams")
    func redelivers() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let busy = Recorder()
        var lentMax = 0
        var turns: [Character] = []
        busy.onBytes = { stream, bytes in
            turns.append("b")
            lentMax = max(lentMax, bytes.count)
            if bytes.count > 100 { stream.redeliverUnread() }
            return min(bytes.count, 100)
        }
        let (_, flood) = try reactor.streamAndPeer(busy)
        let other = Recorder()
        other.onBytes = { _, bytes in
            turns.append("o")
            return bytes.count
        }
        let (_, friend) = try reactor.streamAndPeer(other)
        let bytes = pattern(10_000)
        #expect(flood.write(bytes) == bytes.count)
        reactor.run { turns.count == 3 }
        // Neither more bytes nor the end are read before the rest is consumed.
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

    @Test("An event of a stream closed in the same turn does not reach its descriptor's successor")
    func closedInTheSameTurn() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let delegates = [Recorder(), Recorder()]
        let guests = try delegates.map { try reactor.streamAndPeer($0) }
        let heir = Recorder()
        var successors: [(stream: Stream, peer: RawPeer)] = []
        for (delegate, other) in zip(delegates, guests.reversed()) {
            delegate.onBytes = { _, bytes in
                other.stream.abort()
                // The kernel assigns the lowest number, which was just freed.
                if let successor = try? reactor.streamAndPeer(heir) { successors.append(successor) }
                return bytes.count
            }
        }
        for guest in guests {
            #expect(guest.peer.write([1]) == 1)
            guest.peer.endWriting()
        }
        reactor.settle()
        #expect(delegates.map(\.received.count).sorted() == [0, 1])
        #expect(successors.count == 1)
        #expect(successors.allSatisfy { $0.stream.flags.isDisjoint(with: [.hungUp, .broken]) })
        #expect(heir.received.isEmpty && heir.endCount == 0 && !heir.isClosed)
    }

    @Test func doesNotWaitForAPeerThatIsDone() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let delegate = Recorder()
        delegate.onBytes = { stream, bytes in
            stream.write(Array("farewell".utf8))
            stream.close(within: .seconds(30), peerIsDone: true)
            return bytes.count
        }
        let (stream, peer) = try reactor.streamAndPeer(delegate)
        stream.write(Array("hello, ".utf8))
        peer.write(Array("bye".utf8))
        // The peer does not close its side.
        reactor.run { delegate.isClosed }
        #expect(delegate.error == nil && reactor.streamCount == 0)
        #expect(peer.read() == Array("hello, farewell".utf8))
        #expect(peer.read() == nil)
    }

    @Test func writesAllToAPeerThatIsDoneBeforeItCloses() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let delegate = Recorder()
        let (stream, peer) = try reactor.streamAndPeer(delegate)
        let bytes = pattern(8 << 20)
        stream.write(bytes)
        stream.close(within: .seconds(30), peerIsDone: true)
        #expect(!stream.isClosed)
        var received: [UInt8] = []
        reactor.run {
            while let part = peer.read(), !part.isEmpty { received += part }
            return delegate.isClosed
        }
        while let part = peer.read(), !part.isEmpty { received += part }
        #expect(received == bytes)
        #expect(delegate.error == nil)
    }

    @Test("The last bytes share a segment with the FIN", arguments: [true, false])
    func sparesASegment(peerIsDone: Bool) throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        var accepted: [Stream] = []
        let listener = try reactor.listen(on: #require(SocketAddress(ip: "127.0.0.1", port: 0))) {
            stream,
            _ in
            accepted.append(stream)
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

    @Test func releasesItsDelegateWhenItHasEnded() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        weak var delegate: Holder?
        weak var stream: Net.Stream?
        let address = try #require(SocketAddress(ip: "127.0.0.1", port: 0))
        let listener = try reactor.listen(on: address) { accepted, _ in
            let holder = Holder(accepted)
            (delegate, stream) = (holder, accepted)
            return holder
        }
        let client = Recorder()
        let connection = try reactor.connect(
            to: listener.address,
            timeout: .seconds(5),
            delegate: client
        )
        reactor.run { stream?.isOpen == true }
        connection.close(within: .seconds(5))
        reactor.run { reactor.streamCount == 0 }
        #expect(delegate == nil)
        #expect(stream == nil)
    }

    /// Retains its stream, as delegates do.
    private final class Holder: StreamDelegate {
        let stream: Net.Stream

        init(_ stream: Net.Stream) { self.stream = stream }

        func stream(_ stream: Net.Stream, received bytes: inout MutableSpan<UInt8>) -> Int {
            bytes.count
        }

        func streamClosed(_ stream: Net.Stream, error: StreamError?) {}
    }

    @Test func redeliversUnconsumedBytes() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let delegate = Recorder()
        // Consumes complete lines only.
        delegate.onBytes = { _, bytes in bytes.lastIndex(of: 10).map { $0 + 1 } ?? 0 }
        let (stream, peer) = try reactor.streamAndPeer(delegate)
        peer.write(Array("one\ntw".utf8))
        reactor.run { delegate.received.count == 4 }
        #expect(stream.unread == Array("tw".utf8))
        peer.write(Array("o".utf8))
        reactor.run { stream.unread == Array("two".utf8) }
        peer.write(Array("\n".utf8))
        reactor.run { delegate.received == Array("one\ntwo\n".utf8) }
        #expect(stream.unread.isEmpty)
    }

    @Test(arguments: [1, 1_000, 40_000, 70_000, 300_000])
    func keepsAnyAmountUntilItIsEnough(wanted: Int) throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let delegate = Recorder()
        delegate.onBytes = { _, bytes in bytes.count / wanted * wanted }
        let other = Recorder()
        let (left, _) = try reactor.pair(other, delegate)
        let bytes = pattern(wanted * 3)
        var start = 0
        while start < bytes.count {
            let end = min(start + 9_973, bytes.count)
            left.write(Array(bytes[start..<end]))
            start = end
            reactor.settle()
        }
        reactor.run { delegate.received.count == bytes.count }
        #expect(delegate.received.elementsEqual(bytes))
    }

    @Test func deliversTheRestToANewDelegateAtOnce() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let (first, second) = (Recorder(), Recorder())
        first.onBytes = { stream, _ in
            stream.delegate = second
            return 3
        }
        let (stream, peer) = try reactor.streamAndPeer(first)
        peer.write(Array("GETrest".utf8))
        reactor.run { !second.received.isEmpty }
        #expect(first.received == Array("GET".utf8))
        #expect(second.received == Array("rest".utf8))
        // A later change of the delegate delivers the kept bytes too.
        let third = Recorder()
        second.onBytes = { _, _ in 0 }
        peer.write(Array("kept".utf8))
        reactor.run { stream.unread.count == 4 }
        stream.delegate = third
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
        let (_, peer) = try reactor.streamAndPeer(Upper())
        peer.write(Array("shout".utf8))
        var answer: [UInt8] = []
        reactor.run {
            answer += peer.read() ?? []
            return answer.count == 5
        }
        #expect(answer == Array("SHOUT".utf8))
    }

    @Test("A pause because of the queue ends even if the kernel accepts all of it at once")
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
        let delegate = Recorder()
        delegate.onBytes = { stream, bytes in
            stream.pauseReading()
            return min(2, bytes.count)
        }
        let (stream, peer) = try reactor.streamAndPeer(delegate)
        peer.write(Array("abcdef".utf8))
        reactor.run { delegate.received.count == 2 }
        peer.write(Array("gh".utf8))
        reactor.settle()
        #expect(delegate.received == Array("ab".utf8))
        stream.resumeReading()
        reactor.run { delegate.received.count == 4 }
        reactor.settle()
        #expect(delegate.received == Array("abcd".utf8))
        delegate.onBytes = nil
        stream.resumeReading()
        reactor.run { delegate.received.count == 8 }
        #expect(delegate.received == Array("abcdefgh".utf8))
        // The end is reported last, although it arrived while reading was paused.
        stream.pauseReading()
        peer.write(Array("i".utf8))
        peer.close()
        reactor.settle()
        #expect(delegate.endCount == 0)
        stream.resumeReading()
        reactor.run { delegate.isClosed }
        #expect(delegate.received == Array("abcdefghi".utf8))
        #expect(delegate.endCount == 1 && delegate.error == nil)
    }

    @Test func doesNotLetABusyStreamStarveAnother() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let (busy, quiet, source) = (Recorder(), Recorder(), Recorder())
        let (left, _) = try reactor.pair(source, busy)
        let (_, peer) = try reactor.streamAndPeer(quiet)
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

    @Test func reportsTheEndAndStillWrites() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let delegate = Recorder()
        delegate.onEnd = { stream in
            stream.write(Array("after your end".utf8))
            stream.close(within: .seconds(5))
        }
        let (_, peer) = try reactor.streamAndPeer(delegate)
        peer.write(Array("last".utf8))
        peer.endWriting()
        reactor.run { delegate.isClosed }
        #expect(delegate.received == Array("last".utf8))
        #expect(delegate.error == nil)
        #expect(peer.read() == Array("after your end".utf8))
        #expect(peer.read() == nil)
    }

    @Test func closesInOrder() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let delegate = Recorder()
        let (stream, peer) = try reactor.streamAndPeer(delegate)
        stream.write(Array("bye".utf8))
        stream.close(within: .seconds(30))
        #expect(stream.isClosing)
        stream.write(Array("too late".utf8))
        reactor.settle()
        #expect(peer.read() == Array("bye".utf8))
        // The FIN is sent; the stream waits for the peer's and drops its bytes.
        #expect(peer.read() == nil)
        peer.write(Array("what?".utf8))
        reactor.settle()
        #expect(!delegate.isClosed && delegate.received.isEmpty)
        peer.endWriting()
        reactor.run { delegate.isClosed }
        #expect(delegate.error == nil && delegate.endCount == 0 && delegate.closedCount == 1)
    }

    @Test func doesNotWaitForEverForThePeersEnd() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let delegate = Recorder()
        let (stream, peer) = try reactor.streamAndPeer(delegate)
        stream.close(within: .milliseconds(20))
        reactor.run { delegate.isClosed }
        #expect(delegate.error == .closeTimedOut)
        #expect(peer.read() == nil)
    }

    @Test func abortsAtOnceAndNotifiesOnce() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let delegate = Recorder()
        let (stream, peer) = try reactor.streamAndPeer(delegate)
        stream.write([1, 2, 3])
        stream.abort()
        stream.abort()
        // Not inside the call: the caller may be changing its own state.
        #expect(!delegate.isClosed && stream.isClosed)
        reactor.settle()
        #expect(delegate.closedCount == 1 && delegate.error == nil)
        #expect(peer.read() == nil)
    }

    @Test func toleratesADelegateThatEndsTheStreamWhileReading() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        for ending in [{ $0.abort() }, { $0.close(within: .zero) }] as [(Stream) -> Void] {
            let delegate = Recorder()
            delegate.onBytes = { stream, _ in
                ending(stream)
                return 1
            }
            let (_, peer) = try reactor.streamAndPeer(delegate)
            peer.write(pattern(200_000))
            reactor.run { delegate.isClosed }
            #expect(delegate.received.count == 1)
        }
    }

    @Test func notifiesTheDelegateOfAStalledReader() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let delegate = Recorder()
        let limits = StreamLimits(queuedBytesMax: 1 << 20)
        let (stream, peer) = try reactor.streamAndPeer(delegate, limits: limits)
        let frame = pattern(50_000)
        delegate.onOverflow = { stream in
            stream.discardQueue()
            stream.write(Array("too slow".utf8))
            stream.close(within: .seconds(20))
        }
        reactor.run {
            stream.write(frame)
            return delegate.overflowCount > 0
        }
        #expect(delegate.overflowCount == 1)
        #expect(stream.queuedByteCount < frame.count + 9)
        var received: [UInt8] = []
        reactor.run {
            received += peer.read() ?? []
            return received.suffix(8) == Array("too slow".utf8)
        }
        #expect((received.count - 8) % frame.count == 0)
        peer.close()
        reactor.run { delegate.isClosed }
    }

    @Test func abortsAnUnhandledOverflow() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let delegate = Recorder()
        let limits = StreamLimits(queuedBytesMax: 100_000)
        let (stream, peer) = try reactor.streamAndPeer(delegate, limits: limits)
        reactor.run {
            stream.write(pattern(50_000))
            return delegate.isClosed
        }
        guard case .overflow(let queued, 100_000) = delegate.error else {
            Issue.record("\(String(describing: delegate.error))")
            return
        }
        #expect(queued > 100_000)
        _ = peer
    }

    @Test("EPOLLOUT is added when the kernel's buffer is full for the first time")
    func awaitsRoomOnceThereIsNone() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let (stream, peer) = try reactor.streamAndPeer(Recorder())
        let bytes = pattern(50_000)
        stream.write(bytes)
        reactor.settle()
        #expect(peer.read() == bytes && !stream.flags.contains(.watchesWritable))
        var written = 0
        for _ in 0..<2 {
            reactor.run {
                stream.write(bytes)
                written += bytes.count
                return stream.flags.contains(.blocked)
            }
            #expect(stream.flags.contains(.watchesWritable))
            reactor.run {
                written -= peer.read()?.count ?? 0
                return written == 0
            }
            #expect(stream.queuedByteCount == 0 && !stream.flags.contains(.blocked))
        }
    }

    @Test func acceptsABurstThatTheKernelAccepts() throws {
        // More than the limit within one turn is no overflow while the kernel accepts it.
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let delegate = Recorder()
        let (stream, peer) = try reactor.streamAndPeer(
            delegate,
            limits: StreamLimits(queuedBytesMax: 100)
        )
        for _ in 0..<100 { stream.write(pattern(30)) }
        reactor.settle()
        #expect(delegate.overflowCount == 0)
        #expect(peer.read()?.count == 3_000)
    }

    @Test func noticesALostPeerWhenWriting() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let delegate = Recorder()
        let (stream, peer) = try reactor.streamAndPeer(delegate)
        stream.pauseReading()
        peer.close()
        reactor.run {
            stream.write([1])
            return delegate.isClosed
        }
        // EPIPE as an error; a SIGPIPE would have ended the test.
        #expect(delegate.error == .system(SystemError(call: "sendmsg", code: EPIPE)))
    }

    @Test func failsToConnectWithoutAListener() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let address = try #require(SocketAddress(ip: "127.0.0.1", port: 0))
        let listener = try reactor.listen(on: address) { _, _ in Recorder() }
        let free = listener.address
        listener.close()
        let client = Recorder()
        _ = try reactor.connect(to: free, timeout: .seconds(5), delegate: client)
        #expect(!client.isClosed)
        reactor.run { client.isClosed }
        #expect(client.error == .system(SystemError(call: "connect", code: ECONNREFUSED)))
        #expect(client.openedCount == 0)
    }

    @Test func connectsFromAnAddress() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        var accepted: [Stream] = []
        let address = try #require(SocketAddress(ip: "127.0.0.1", port: 0))
        let listener = try reactor.listen(on: address) { stream, _ in
            accepted.append(stream)
            return Recorder()
        }
        let source = try #require(SocketAddress(ip: "127.0.0.9", port: 0))
        _ = try reactor.connect(
            to: listener.address,
            from: source,
            timeout: .seconds(5),
            delegate: Recorder()
        )
        reactor.run { accepted.count == 1 }
        #expect(accepted[0].remoteAddress()?.ip == "127.0.0.9")
        // An address of documentation (RFC 5737), which no machine has.
        let foreign = try #require(SocketAddress(ip: "192.0.2.1", port: 0))
        #expect(throws: SystemError(call: "bind", code: EADDRNOTAVAIL)) {
            try reactor.connect(
                to: listener.address,
                from: foreign,
                timeout: .seconds(5),
                delegate: Recorder()
            )
        }
    }

    @Test func timesOutAConnectionThatIsNotAnswered() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        // A listener with a full backlog drops further SYNs.
        let address = try #require(SocketAddress(ip: "127.0.0.1", port: 0))
        let silent = try Socket.listen(on: address, backlog: 0, reusePort: false)
        let bound = try #require(SocketAddress { getsockname(silent.raw, $0, &$1) })
        var clients: [Recorder] = []
        for _ in 0..<4 {
            let client = Recorder()
            _ = try reactor.connect(to: bound, timeout: .milliseconds(50), delegate: client)
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
