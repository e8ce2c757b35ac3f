import Net

/// What owns a stream that is only waiting for its last bytes to leave.
final class Farewell: StreamOwner {
    func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int { bytes.count }

    func streamClosed(_ stream: Stream, error: StreamError?) {}
}
