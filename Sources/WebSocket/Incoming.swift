/// A received message or control frame.
public struct Incoming: Sendable {
    /// The kind of message or control frame.
    public enum Kind: Sendable, Hashable {
        /// A text message; its payload is UTF-8.
        case text
        /// A binary message.
        case binary
        /// A ping, to be answered by a pong with the same payload (RFC 6455 §5.5.2).
        case ping
        /// A pong.
        case pong
        /// The closing handshake, with the code if the frame had one.
        ///
        /// The payload is the reason, which is UTF-8 (§5.5.1). No further messages follow.
        case close(CloseCode?)
    }

    /// The location of the payload.
    enum Payload: Sendable {
        /// Unmasked, in the bytes passed by the caller.
        case within(Range<Int>)
        /// Assembled from several frames or reads, or inflated.
        case assembled([UInt8])
    }

    /// The kind of message or control frame.
    public let kind: Kind
    let payload: Payload

    /// The payload's length, in bytes.
    public var payloadLength: Int {
        switch payload {
        case .within(let range): range.count
        case .assembled(let bytes): bytes.count
        }
    }

    /// Calls `body` with the payload, without a copy.
    ///
    /// - Parameters:
    ///   - bytes: The same bytes that were passed to ``WebSocketEndpoint/next(in:at:)``.
    ///   - body: Called with the payload.
    /// - Returns: The result of `body`.
    /// - Throws: The error of `body`.
    public func withPayload<R: ~Copyable, E: Error>(
        in bytes: Span<UInt8>,
        _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        switch payload {
        case .within(let range): try body(bytes.extracting(range))
        case .assembled(let bytes): try body(bytes.span)
        }
    }

    /// Returns the payload as an array, without a copy if the message was assembled.
    ///
    /// `bytes` are the same bytes that were passed to ``WebSocketEndpoint/next(in:at:)``.
    public func payload(in bytes: Span<UInt8>) -> [UInt8] {
        switch payload {
        case .within(let range):
            bytes.extracting(range).withUnsafeBufferPointer { [UInt8]($0) }
        case .assembled(let bytes): bytes
        }
    }
}
