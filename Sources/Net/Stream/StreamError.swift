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
    /// The peer did not close its side in time after we closed ours.
    case closeTimedOut
    /// The owner did nothing about a queue past `queuedBytesMax`, in bytes.
    case overflow(queued: Int, limit: Int)
    /// The owner did nothing about its queue when all queues together held more than `limit` bytes.
    case overdrawn(limit: Int)
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
        case .overdrawn(let limit):
            "all that waits for peers that do not read takes more than \(limit) bytes"
        case .shutDown: "shut down"
        }
    }
}

/// What a stream may hold and how long it may take.
public struct StreamLimits: Hashable, Sendable {
    /// Bytes queued and not accepted by the kernel, past which ``StreamDelegate/streamOverflowed(_:)``
    /// is told: a peer that does not read must not grow our memory.
    public var queuedBytesMax: Int
    /// How long a TLS handshake may take.
    public var handshakeTimeout: Duration

    /// Limits of a stream.
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
