/// Who is told what happens on a ``Stream``.
///
/// All calls come on the loop's thread, from inside the reactor's `poll()` or `flush()`, and never
/// from inside one of the stream's own methods: calling `write`, `close` or `abort` is safe anywhere.
public protocol StreamOwner: AnyObject {
    /// The stream can carry bytes: accepted, connected, and past the TLS handshake.
    func streamOpened(_ stream: Stream)

    /// Bytes have arrived.
    ///
    /// They are lent for the call and may be changed in place. What is not consumed is kept and lent
    /// again in front of what comes next, or at once if the call gave the stream a new owner.
    ///
    /// - Parameters:
    ///   - stream: The stream.
    ///   - bytes: Not empty.
    /// - Returns: How many bytes, from the first, were consumed.
    func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int

    /// The peer will send no more; told once. The stream can still be written to.
    ///
    /// By default the stream is closed.
    func streamReachedEnd(_ stream: Stream)

    /// More bytes are queued than ``StreamLimits/queuedBytesMax``.
    ///
    /// The owner discards the queue or closes the stream; if it does neither, the stream is aborted,
    /// as it is by default.
    func streamOverflowed(_ stream: Stream)

    /// Whose the bytes are that wait for this stream's peer, as those of an app that has a limit of its own.
    ///
    /// Asked when the kernel refuses bytes. By default they are nobody's in particular.
    func queueAccount(of stream: Stream) -> QueueAccount?

    /// What waits for all the streams of an account takes more memory than it may, and of this one among the most.
    ///
    /// The owner closes the stream; if it does not, the stream is aborted, as it is by default.
    func streamOverdrawn(_ stream: Stream, _ account: QueueAccount)

    /// The queue is empty again after the kernel had refused bytes, or while reading is paused.
    ///
    /// So an owner with much in the queue can pause reading and go on here, however fast the kernel
    /// takes it. By default nothing is done.
    func streamDrained(_ stream: Stream)

    /// Bytes have come of which nothing can be decrypted yet: a record of TLS is not complete.
    ///
    /// By default nothing is done.
    func streamAwaitsRecord(_ stream: Stream)

    /// Whether the stream is read once more when a write has failed, before it ends.
    ///
    /// For a peer that may answer, close and reset the connection while it is still sent to: its answer lies in the
    /// kernel's buffer then. By default it is not read.
    func readsAfterFailedWrite(_ stream: Stream) -> Bool

    /// The stream has ended: exactly once, and last.
    ///
    /// - Parameters:
    ///   - stream: The stream; its descriptor is closed.
    ///   - error: nil after a normal close and after `abort()`.
    func streamClosed(_ stream: Stream, error: StreamError?)
}

extension StreamOwner {
    /// Does nothing.
    public func streamOpened(_ stream: Stream) {}

    /// Closes the stream, with five seconds for what is queued.
    public func streamReachedEnd(_ stream: Stream) { stream.close(within: .seconds(5)) }

    /// Does nothing, so that the stream is aborted.
    public func streamOverflowed(_ stream: Stream) {}

    /// Nobody's in particular.
    public func queueAccount(of stream: Stream) -> QueueAccount? { nil }

    /// Does nothing, so that the stream is aborted.
    public func streamOverdrawn(_ stream: Stream, _ account: QueueAccount) {}

    /// Does nothing.
    public func streamDrained(_ stream: Stream) {}

    /// Does nothing.
    public func streamAwaitsRecord(_ stream: Stream) {}

    /// The stream ends at once.
    public func readsAfterFailedWrite(_ stream: Stream) -> Bool { false }
}
