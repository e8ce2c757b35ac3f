/// What a peer said: a whole message or a control frame.
public struct Incoming: Sendable {
    /// What it is.
    public enum Kind: Sendable, Hashable {
        /// A text message; its payload is UTF-8.
        case text
        /// A binary message.
        case binary
        /// A ping, to be answered by a pong with the same payload (RFC 6455 §5.5.2).
        case ping
        /// A pong.
        case pong
        /// The closing handshake, with the code if the frame had one; the payload is the reason,
        /// which is UTF-8 (§5.5.1). Nothing comes after it.
        case close(CloseCode?)
    }

    /// Where the payload lies.
    enum Payload: Sendable {
        /// In the bytes that were given, unmasked.
        case within(Range<Int>)
        /// Put together from several frames or reads, or inflated.
        case assembled([UInt8])
    }

    /// What the peer said.
    public let kind: Kind
    let payload: Payload

    /// The payload's length, in bytes.
    public var payloadLength: Int {
        switch payload {
        case .within(let range): range.count
        case .assembled(let bytes): bytes.count
        }
    }

    /// Lends the payload, without a copy.
    ///
    /// - Parameters:
    ///   - bytes: The same bytes that ``WebSocketEndpoint/next(in:at:)`` was given.
    ///   - body: Reads the payload.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    public func withPayload<R: ~Copyable, E: Error>(
        in bytes: Span<UInt8>,
        _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        switch payload {
        case .within(let range): try body(bytes.extracting(range))
        case .assembled(let bytes): try body(bytes.span)
        }
    }

    /// The payload as bytes of its own; those of an assembled message are handed over uncopied.
    ///
    /// - Parameter bytes: The same bytes that ``WebSocketEndpoint/next(in:at:)`` was given.
    /// - Returns: The payload.
    public func payload(in bytes: Span<UInt8>) -> [UInt8] {
        switch payload {
        case .within(let range):
            bytes.extracting(range).withUnsafeBufferPointer { [UInt8]($0) }
        case .assembled(let bytes): bytes
        }
    }
}
