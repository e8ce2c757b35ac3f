/// Why a ``Stream`` ended other than by a normal close.
public enum StreamError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A system call failed: the peer reset the connection, refused it, or is unreachable.
    case system(SystemError)
    /// TLS failed: the handshake, the certificate's verification, or a record.
    case tls(TLSError)
    /// The peer did not answer the connection attempt in time.
    case connectTimedOut
    /// The peer did not finish the TLS handshake in time.
    case handshakeTimedOut
    /// The peer did not close its side in time after ours was closed.
    case closeTimedOut
    /// The queue was longer than `queuedBytesMax`, in bytes, and the delegate did not close the stream.
    case overflow(queued: Int, limit: Int)
    /// A memory budget of `limit` bytes was exceeded, and the delegate did not close the stream.
    case memoryBudgetExceeded(limit: Int)
    /// The reactor was shut down.
    case shutDown

    /// A sentence for a log.
    public var description: String {
        switch self {
        case .system(let error): error.description
        case .tls(let error): error.description
        case .connectTimedOut: "no answer to the connection attempt in time"
        case .handshakeTimedOut: "the TLS handshake was not finished in time"
        case .closeTimedOut: "the peer did not close its side in time"
        case .overflow(let queued, let limit):
            "\(queued) bytes queued for a peer that does not read; the limit is \(limit)"
        case .memoryBudgetExceeded(let limit):
            "the output queued for peers that do not read exceeds \(limit) bytes"
        case .shutDown: "shut down"
        }
    }
}

/// The limits of a stream.
public struct StreamLimits: Hashable, Sendable {
    /// The maximum number of bytes that may be queued before ``StreamDelegate/streamOverflowed(_:)`` is called.
    ///
    /// A peer that does not read therefore cannot use up the memory.
    public var queuedBytesMax: Int
    /// The longest duration of a TLS handshake.
    public var handshakeTimeout: Duration

    /// Makes the limits of a stream.
    ///
    /// - Parameters:
    ///   - queuedBytesMax: In bytes; buffers shared by many streams count in each.
    ///   - handshakeTimeout: From accept to the end of the TLS handshake.
    public init(
        queuedBytesMax: Int = 16 << 20,
        handshakeTimeout: Duration = .seconds(10)
    ) {
        self.queuedBytesMax = queuedBytesMax
        self.handshakeTimeout = handshakeTimeout
    }
}
