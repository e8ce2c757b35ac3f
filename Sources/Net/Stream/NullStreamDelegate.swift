/// Owns a stream before the listener has chosen an owner, and after the stream has ended.
final class NullStreamDelegate: StreamDelegate, Sendable {
    static let shared = NullStreamDelegate()

    func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int { 0 }
    func streamClosed(_ stream: Stream, error: StreamError?) {}
}
