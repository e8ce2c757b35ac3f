import Glibc
import Testing

@testable import Net

@Suite("Streams whose peers send little and often, or close early", .timeLimit(.minutes(1)))
struct MutedStreamTests {
    @Test("A muted stream does not wake its loop, and is lent everything afterwards")
    func mutes() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let owner = Recorder()
        let (stream, peer) = try reactor.streamAndPeer(owner)
        reactor.settle()
        stream.muteReading()
        for byte in Array("abc".utf8) {
            peer.write([byte])
            let start = ContinuousClock.now
            reactor.turn(atMost: .milliseconds(20))
            #expect(start.duration(to: .now) >= .milliseconds(20))
        }
        #expect(owner.received.isEmpty)
        stream.unmuteReading()
        reactor.run { owner.received == Array("abc".utf8) }
        peer.write(Array("d".utf8))
        reactor.run { owner.received == Array("abcd".utf8) }
    }

    @Test("The peer's end is told when the stream is read again") func endWhileMuted() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let owner = Recorder()
        let (stream, peer) = try reactor.streamAndPeer(owner)
        reactor.settle()
        stream.muteReading()
        peer.write(Array("a".utf8))
        peer.endWriting()
        reactor.settle()
        #expect(owner.endCount == 0)
        stream.unmuteReading()
        reactor.run { owner.isClosed }
        #expect(owner.received == Array("a".utf8))
        #expect(owner.endCount == 1)
    }

    @Test("A stream that is not muted is not resumed") func unmutesNothing() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let owner = Recorder()
        let (stream, peer) = try reactor.streamAndPeer(owner)
        stream.unmuteReading()
        peer.write(Array("a".utf8))
        reactor.run { owner.received == Array("a".utf8) }
    }

    /// An owner that wants what came before a write failed.
    private final class LastReader: StreamDelegate {
        var received: [UInt8] = []
        var error: StreamError?
        var isClosed = false

        func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int {
            bytes.withUnsafeBufferPointer { received.append(contentsOf: $0) }
            return bytes.count
        }

        func readsAfterFailedWrite(_ stream: Stream) -> Bool { true }

        func streamClosed(_ stream: Stream, error: StreamError?) {
            self.error = error
            isClosed = true
        }
    }

    @Test("What came before a write failed is lent, if the owner wants it")
    func lastBytes() throws {
        let reactor = try Reactor.forTest()
        defer { reactor.shutDown() }
        let owner = LastReader()
        let (stream, peer) = try reactor.streamAndPeer(owner)
        peer.write(Array("no".utf8))
        // Closed with nothing unread, so that the bytes stay where they are.
        peer.close()
        stream.write(Array("a request".utf8))
        reactor.flush()
        #expect(owner.isClosed)
        #expect(owner.received == Array("no".utf8))
        #expect(owner.error != nil)
    }
}
