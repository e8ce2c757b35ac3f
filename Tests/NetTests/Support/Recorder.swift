@testable import Net

/// A delegate that records its events.
final class Recorder: StreamDelegate {
    var received: [UInt8] = []
    var openedCount = 0
    var endCount = 0
    var overflowCount = 0
    var drainedCount = 0
    var closedCount = 0
    var error: StreamError?

    /// The budget of the queued bytes.
    var budget: MemoryBudget?
    /// Handles received bytes and returns the number consumed; if nil, all are consumed.
    var onBytes: ((Stream, [UInt8]) -> Int)?
    var onOpen: ((Stream) -> Void)?
    /// Handles the peer's end; if nil, the stream is closed.
    var onEnd: ((Stream) -> Void)?
    var onOverflow: ((Stream) -> Void)?
    var onDrain: ((Stream) -> Void)?
    var onClose: (() -> Void)?

    var isOpened: Bool { openedCount > 0 }
    var isClosed: Bool { closedCount > 0 }

    func streamOpened(_ stream: Stream) {
        openedCount += 1
        onOpen?(stream)
    }

    func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int {
        var lent: [UInt8] = []
        lent.reserveCapacity(bytes.count)
        bytes.withUnsafeBufferPointer { lent.append(contentsOf: $0) }
        let consumed = onBytes?(stream, lent) ?? lent.count
        received += lent[..<consumed]
        return consumed
    }

    func streamReachedEnd(_ stream: Stream) {
        endCount += 1
        if let onEnd { onEnd(stream) } else { stream.close(within: .seconds(5)) }
    }

    func streamOverflowed(_ stream: Stream) {
        overflowCount += 1
        onOverflow?(stream)
    }

    func memoryBudget(of stream: Stream) -> MemoryBudget? { budget }

    func streamDrained(_ stream: Stream) {
        drainedCount += 1
        onDrain?(stream)
    }

    func streamClosed(_ stream: Stream, error: StreamError?) {
        closedCount += 1
        self.error = error
        onClose?()
    }

    /// A delegate that sends received bytes back.
    static func echo() -> Recorder {
        let recorder = Recorder()
        recorder.onBytes = { stream, bytes in
            stream.write(bytes)
            return bytes.count
        }
        return recorder
    }
}
