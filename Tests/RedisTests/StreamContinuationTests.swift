import Testing

@testable import Redis

@Suite("Continuation over sealed streams") struct StreamContinuationTests {
    private func position(_ stream: UInt64, _ serial: UInt64) -> StreamPosition {
        StreamPosition(stream: stream, serial: serial)
    }

    @Test func followsStreams() {
        var continuation = StreamContinuation(behind: position(1, 3))
        #expect(continuation.advance(to: position(1, 4), following: nil) == .message)
        #expect(continuation.advance(to: position(5, 0), following: position(1, 4)) == .stream)
        #expect(continuation.advance(to: position(9, 0), following: position(5, 0)) == .stream)
        #expect(continuation.advance(to: position(9, 1), following: nil) == .message)
        #expect(continuation.position == position(9, 1))
    }

    @Test(
        "What does not follow the last position is a gap, and changes nothing",
        arguments: [
            (1, 3, nil, nil), (1, 5, nil, nil), (1, 2, nil, nil), (2, 1, nil, nil),
            (2, 4, nil, nil), (2, 0, nil, nil), (2, 0, 1, 2), (2, 0, 1, 4), (2, 0, 2, 3),
        ] as [(UInt64, UInt64, UInt64?, UInt64?)]
    )
    func findsGaps(stream: UInt64, serial: UInt64, former: UInt64?, last: UInt64?) {
        var continuation = StreamContinuation(behind: position(1, 3))
        let sealed = former.flatMap { stream in last.map { position(stream, $0) } }
        #expect(continuation.advance(to: position(stream, serial), following: sealed) == .gap)
        #expect(continuation.position == position(1, 3))
    }

    @Test func readsSeals() {
        #expect(StreamPosition(sealedBy: Array("! - 99 1-17".utf8)) == position(1, 17))
        for text in ["", "! - 99", "e - 99 1-17", "! - 99 17", "! - 99 1-17 x", "! - 99 1-x"] {
            #expect(StreamPosition(sealedBy: Array(text.utf8)) == nil, "\(text)")
        }
    }
}
