/// The events of a ``Stream``.
///
/// All methods are called on the loop's thread, inside the reactor's `poll()` or `flush()`, and never inside one of the
/// stream's own methods. Calling `write`, `close` or `abort` is safe anywhere.
public protocol StreamDelegate: AnyObject {
    /// Called when the stream is connected and its TLS handshake, if any, is complete.
    func streamOpened(_ stream: Stream)

    /// Called when bytes have arrived.
    ///
    /// The bytes are valid during the call and may be changed in place. Unconsumed bytes are kept and delivered
    /// again in front of the next ones, or at once if the call has set a new delegate.
    ///
    /// - Parameters:
    ///   - stream: The stream.
    ///   - bytes: The received bytes; at least one.
    /// - Returns: The number of bytes consumed, from the first.
    func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int

    /// Called once, when the peer has ended its side. The stream can still be written to.
    ///
    /// By default the stream is closed.
    func streamReachedEnd(_ stream: Stream)

    /// Called when more bytes are queued than ``StreamLimits/queuedBytesMax``.
    ///
    /// The delegate has to discard the queue or close the stream. Otherwise, and by default, the stream is aborted.
    func streamOverflowed(_ stream: Stream)

    /// Returns the budget to charge this stream's queued bytes to besides the reactor's, for example the budget of an
    /// app.
    ///
    /// Called when the kernel refuses bytes. The default is nil: no further budget.
    func memoryBudget(of stream: Stream) -> MemoryBudget?

    /// Called when a budget is exceeded and this stream's queue is among the longest of its streams.
    ///
    /// The delegate has to close the stream. Otherwise, and by default, the stream is aborted.
    func streamExceededBudget(_ stream: Stream, _ budget: MemoryBudget)

    /// Called when the queue is empty again after the kernel had refused bytes, or while reading is paused.
    ///
    /// A delegate with a long queue can therefore pause reading and resume it here, even if the kernel refuses nothing.
    /// Does nothing by default.
    func streamDrained(_ stream: Stream)

    /// Called when bytes have arrived that cannot be decrypted yet, because a TLS record is incomplete.
    ///
    /// Does nothing by default.
    func streamAwaitsRecord(_ stream: Stream)

    /// Called when a client of a stream with TLS begins with the method of an HTTP request instead of a TLS handshake.
    ///
    /// The stream ends then. By default nothing is sent.
    ///
    /// - Parameter stream: The stream, which is not open.
    /// - Returns: Bytes to send without TLS, as far as the kernel accepts them at once.
    func streamReceivedPlaintext(_ stream: Stream) -> [UInt8]

    /// Returns whether to read the stream once more after a failed write, before the stream ends.
    ///
    /// For a peer that may respond, close and reset the connection while data is still being sent to it. Its response
    /// is then in the kernel's buffer. False by default.
    func readsAfterFailedWrite(_ stream: Stream) -> Bool

    /// Returns how many of the next bytes of a relayed stream may go to its present socket, from the first; 0 if none.
    ///
    /// Called before each send, also during a fan-out pass: it may only count. By default all may.
    func stream(_ stream: Stream, portionOf bytes: UnsafeRawBufferPointer) -> Int

    /// Called with the bytes of such a portion that the kernel has accepted, to be counted; does nothing by default.
    func stream(_ stream: Stream, sent bytes: UnsafeRawBufferPointer)

    /// Called when a relayed stream needs another socket, or its bytes have to be taken.
    ///
    /// Does nothing by default.
    func stream(_ stream: Stream, relayed event: RelayEvent)

    /// Called exactly once, as the last event, when the stream has ended.
    ///
    /// - Parameters:
    ///   - stream: The stream; its descriptor is closed.
    ///   - error: The reason; nil after a normal close and after `abort()`.
    func streamClosed(_ stream: Stream, error: StreamError?)
}

extension StreamDelegate {
    /// Does nothing.
    public func streamOpened(_ stream: Stream) {}

    /// Closes the stream within five seconds.
    public func streamReachedEnd(_ stream: Stream) { stream.close(within: .seconds(5)) }

    /// Does nothing, so that the stream is aborted.
    public func streamOverflowed(_ stream: Stream) {}

    /// Returns nil.
    public func memoryBudget(of stream: Stream) -> MemoryBudget? { nil }

    /// Does nothing, so that the stream is aborted.
    public func streamExceededBudget(_ stream: Stream, _ budget: MemoryBudget) {}

    /// Does nothing.
    public func streamDrained(_ stream: Stream) {}

    /// Does nothing.
    public func streamAwaitsRecord(_ stream: Stream) {}

    /// Returns nothing to send.
    public func streamReceivedPlaintext(_ stream: Stream) -> [UInt8] { [] }

    /// Returns false.
    public func readsAfterFailedWrite(_ stream: Stream) -> Bool { false }

    /// Returns the number of all bytes.
    public func stream(_ stream: Stream, portionOf bytes: UnsafeRawBufferPointer) -> Int {
        bytes.count
    }

    /// Does nothing.
    public func stream(_ stream: Stream, sent bytes: UnsafeRawBufferPointer) {}

    /// Does nothing.
    public func stream(_ stream: Stream, relayed event: RelayEvent) {}
}

/// What the delegate of a relayed stream has to do something about.
public enum RelayEvent: Sendable {
    /// The next bytes may not go to the present socket; see ``StreamDelegate/stream(_:portionOf:)``.
    case filled
    /// Bytes wait in a parked stream that had none.
    case waiting
}

/// The delegate of a stream before its listener has set one, and after the stream has ended.
final class NullStreamDelegate: StreamDelegate, Sendable {
    static let shared = NullStreamDelegate()

    func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int { 0 }
    func streamClosed(_ stream: Stream, error: StreamError?) {}
}
