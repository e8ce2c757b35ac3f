import Net

/// What owns a stream that is only waiting for its last bytes to leave.
final class Farewell: StreamOwner {
    private let limit: Duration

    /// An owner that closes its stream, within `limit`, as soon as it has it.
    init(limit: Duration) { self.limit = limit }

    func streamOpened(_ stream: Stream) { stream.close(within: limit) }

    func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int { bytes.count }

    func streamClosed(_ stream: Stream, error: StreamError?) {}
}
