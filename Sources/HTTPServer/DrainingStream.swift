public import Net

/// The delegate of a stream that another protocol refused after its upgrade.
///
/// It waits until the last bytes are sent and the peer closes, and drops received bytes.
///
/// The stream counts towards its site's ``HTTPSite/connectionsMax`` until it has ended.
public final class DrainingStream: StreamDelegate {
    private let streams: DrainingStreams
    private let limit: Duration
    fileprivate var stream: Stream?
    /// The stream's number in its list, in order of addition.
    fileprivate var number: Int?

    /// Makes the delegate of a stream that is about to be closed.
    ///
    /// - Parameters:
    ///   - streams: The list that counts the stream.
    ///   - limit: The time for the peer to read and to close, before the stream is closed anyway.
    public init(in streams: DrainingStreams, within limit: Duration) {
        self.streams = streams
        self.limit = limit
    }

    /// Closes the stream gracefully.
    public func streamOpened(_ stream: Stream) {
        self.stream = stream
        streams.append(self)
        stream.close(within: limit)
    }

    /// Drops received bytes.
    public func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int {
        bytes.count
    }

    /// Removes the stream from the list.
    public func streamClosed(_ stream: Stream, error: StreamError?) {
        streams.remove(self)
        self.stream = nil
    }
}

/// The draining streams of one site, oldest first.
///
/// Confined to the reactor's thread.
public final class DrainingStreams {
    /// The streams by age; nil for those that have ended.
    private var slots: [DrainingStream?] = []
    /// The index of the oldest stream; all slots before it are nil.
    private var oldest = 0
    /// The number of the stream at index 0.
    private var firstNumber = 0

    /// The number of draining streams.
    public private(set) var count = 0

    /// Makes an empty list.
    public init() {}

    fileprivate func append(_ delegate: DrainingStream) {
        delegate.number = firstNumber + slots.count
        slots.append(delegate)
        count += 1
    }

    fileprivate func remove(_ delegate: DrainingStream) {
        guard let number = delegate.number.take() else { return }
        slots[number - firstNumber] = nil
        count -= 1
        while oldest < slots.count, slots[oldest] == nil { oldest += 1 }
        // Removed in bulk, so that a removal takes amortized constant time.
        guard oldest >= 64, oldest >= slots.count / 2 else { return }
        slots.removeFirst(oldest)
        firstNumber += oldest
        oldest = 0
    }

    /// Aborts the stream that has drained for the longest, and returns whether there was one.
    func abortOldest() -> Bool {
        guard oldest < slots.count, let delegate = slots[oldest] else { return false }
        let stream = delegate.stream
        remove(delegate)
        stream?.abort()
        return true
    }
}
