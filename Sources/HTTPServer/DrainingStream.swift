public import Net

/// Owns a stream that another protocol refused behind its upgrade: it waits for the last bytes to be sent and for the
/// peer to close, and drops what arrives.
///
/// It counts towards its site's ``HTTPSite/connectionsMax`` until it has ended.
public final class DrainingStream: StreamDelegate {
    private let streams: DrainingStreams
    private let limit: Duration
    fileprivate var stream: Stream?
    /// The place among all streams that have drained here.
    fileprivate var number: Int?

    /// Makes the owner of a stream that is about to be closed.
    ///
    /// - Parameters:
    ///   - streams: The streams that it is counted among.
    ///   - limit: How long the peer may take to read and to close, before the stream is closed anyway.
    public init(in streams: DrainingStreams, within limit: Duration) {
        self.streams = streams
        self.limit = limit
    }

    /// Begins to close the stream.
    public func streamOpened(_ stream: Stream) {
        self.stream = stream
        streams.append(self)
        stream.close(within: limit)
    }

    /// Drops what arrives.
    public func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int {
        bytes.count
    }

    /// Ends the count.
    public func streamClosed(_ stream: Stream, error: StreamError?) {
        streams.remove(self)
        self.stream = nil
    }
}

/// The streams of one site that drain, oldest first.
///
/// Confined to the reactor's thread.
public final class DrainingStreams {
    /// From the oldest on; those that have ended since leave a gap.
    private var places: [DrainingStream?] = []
    /// The index of the oldest; before it there are only gaps.
    private var oldest = 0
    /// The number of the stream at index 0.
    private var firstNumber = 0

    /// The number of streams that drain.
    public private(set) var count = 0

    /// Makes an empty list.
    public init() {}

    fileprivate func append(_ owner: DrainingStream) {
        owner.number = firstNumber + places.count
        places.append(owner)
        count += 1
    }

    fileprivate func remove(_ owner: DrainingStream) {
        guard let number = owner.number.take() else { return }
        places[number - firstNumber] = nil
        count -= 1
        while oldest < places.count, places[oldest] == nil { oldest += 1 }
        // Removed in bulk, so that each removal costs a constant time on average.
        guard oldest >= 64, oldest >= places.count / 2 else { return }
        places.removeFirst(oldest)
        firstNumber += oldest
        oldest = 0
    }

    /// Closes the stream that has drained for the longest, at once.
    ///
    /// - Returns: Whether there was one.
    func abortOldest() -> Bool {
        guard oldest < places.count, let owner = places[oldest] else { return false }
        let stream = owner.stream
        remove(owner)
        stream?.abort()
        return true
    }
}
