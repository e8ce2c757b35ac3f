import Primitives

/// One side of an open WebSocket (RFC 6455 §5–7): parses received bytes into messages, and makes the frames to send.
///
/// It does no I/O and is a small value. It uses heap memory only while a message is incomplete or a compression context
/// exists. The caller keeps unconsumed bytes, passes them again before the next ones, and closes the transport when
/// ``isClosed`` or after an error.
///
/// ```swift
/// var position = 0
/// do {
///     while let incoming = try endpoint.next(in: &bytes, at: &position) {
///         switch incoming.kind {
///         case .text, .binary: incoming.withPayload(in: bytes.span) { deliver($0) }
///         case .ping: send(incoming.withPayload(in: bytes.span) { endpoint.pong($0) })
///         case .pong: break
///         case .close: send(endpoint.answerClose())
///         }
///     }
/// } catch {
///     send(endpoint.close(error.closeCode, reason: error.description))
/// }
/// ```
public struct WebSocketEndpoint: ~Copyable {
    /// The side of the connection.
    public let role: Role
    /// Whether a close frame was made; no more frames are sent.
    public private(set) var isCloseSent = false
    /// Whether the peer's close frame arrived; further bytes are ignored.
    public private(set) var isCloseReceived = false
    /// Whether the peer violated a rule; further bytes are ignored.
    public private(set) var hasFailed = false
    private var receivedCloseCode: CloseCode?
    private let limits: WebSocketLimits
    private var message: IncompleteMessage?
    private let compression: MessageCompression?

    /// Makes an endpoint of a connection whose opening handshake is complete.
    ///
    /// - Parameters:
    ///   - role: The side of the connection.
    ///   - limits: The limits of received messages.
    ///   - compression: The agreed compression.
    public init(
        role: Role,
        limits: WebSocketLimits = .init(),
        compression: NegotiatedDeflate? = nil
    ) {
        self.role = role
        self.limits = limits
        self.compression = compression.map { MessageCompression($0, role: role) }
    }

    /// The window size of messages that a server may compress once for many endpoints.
    ///
    /// `nil` if compression was not agreed without context takeover (RFC 7692 §7.1.1.1).
    public var sharedWindowBits: Int? { compression?.sharedWindowBits }

    /// Whether the closing handshake has begun (§7.1.3).
    public var isClosing: Bool { isCloseSent || isCloseReceived || hasFailed }

    /// Whether the closing handshake is complete.
    ///
    /// The server now closes the transport; the client waits for that (§7.1.1).
    public var isClosed: Bool { isCloseSent && (isCloseReceived || hasFailed) }

    /// Whether a message is incomplete.
    public var hasIncompleteMessage: Bool { message != nil }

    /// The memory of an incomplete message, in bytes; 0 if there is none.
    public var incompleteMessageSize: Int { message?.memorySize ?? 0 }

    /// Frees the memory of an incomplete message.
    ///
    /// For an endpoint that gets no more bytes, because it would parse the rest of the message as a malformed frame.
    public mutating func discardIncompleteMessage() {
        guard message != nil else { return }
        message = nil
        compression?.releaseInflater()
    }

    /// Parses the next message or control frame.
    ///
    /// Payloads are unmasked in place. A message in one frame that is complete in `bytes` is returned as a range,
    /// without a copy. Control frames are returned in order, also between fragments. Bytes after a close frame or an
    /// error are consumed and ignored (§1.4, §7.1.7).
    ///
    /// - Parameters:
    ///   - bytes: The received bytes. UTF-8, limits and all other rules are checked as they arrive, not
    ///     only at the end of a message.
    ///   - position: Where to continue; moved past the consumed bytes. When `nil` is returned, the
    ///     rest is an incomplete header or control frame, at most 131 bytes, to be passed again.
    /// - Returns: The message or control frame; `nil` if more bytes are needed.
    /// - Throws: The first rule that the peer violated. Send ``close(_:reason:mask:)`` with the error's
    ///   code and close the transport.
    public mutating func next(
        in bytes: inout MutableSpan<UInt8>,
        at position: inout Int
    ) throws(WebSocketError) -> Incoming? {
        guard !isCloseReceived, !hasFailed else {
            position = bytes.count
            return nil
        }
        do throws(WebSocketError) {
            return try read(&bytes, at: &position)
        } catch {
            hasFailed = true
            message = nil
            compression?.release()
            position = bytes.count
            throw error
        }
    }

    /// Returns a frame with a complete message, compressed if that was agreed and is worthwhile.
    ///
    /// - Parameters:
    ///   - kind: The message's type; a text must be UTF-8.
    ///   - payload: The message.
    ///   - mask: A new random key for a client, `nil` for a server.
    /// - Returns: The frame; `nil` after a close frame (§5.5.1).
    public mutating func encode(
        _ kind: MessageKind,
        _ payload: Span<UInt8>,
        mask: UInt32? = nil
    ) -> [UInt8]? {
        guard maySend(mask) else { return nil }
        if let compressed = compression?.compress(payload) {
            return FrameEncoder.frame(
                kind.opcode,
                isCompressed: true,
                payload: compressed.span,
                mask: mask
            )
        }
        return FrameEncoder.frame(kind.opcode, payload: payload, mask: mask)
    }

    /// Appends a server's frame whose message is written directly after its header.
    ///
    /// The message is compressed if that was agreed and is worthwhile. Nothing is appended after a close frame.
    ///
    /// - Parameters:
    ///   - kind: The message's type; a text must be UTF-8.
    ///   - bytes: The bytes to append to.
    ///   - write: Appends the message.
    public mutating func append(
        _ kind: MessageKind,
        to bytes: inout [UInt8],
        writing write: (inout [UInt8]) -> Void
    ) {
        guard maySend(nil) else { return }
        let start = bytes.count
        let message = FrameEncoder.append(kind.opcode, to: &bytes, writing: write)
        guard let compression,
            let compressed = compression.compress(bytes.span.extracting(message))
        else { return }
        bytes.removeSubrange(start...)
        FrameEncoder.append(
            kind.opcode,
            isCompressed: true,
            payload: compressed.span,
            to: &bytes
        )
    }

    /// Returns a ping frame.
    ///
    /// - Parameters:
    ///   - payload: At most 125 bytes, which the pong returns.
    ///   - mask: A new random key for a client, `nil` for a server.
    /// - Returns: The frame; `nil` after a close frame.
    public func ping(_ payload: Span<UInt8>, mask: UInt32? = nil) -> [UInt8]? {
        maySend(mask) ? FrameEncoder.frame(.ping, payload: payload, mask: mask) : nil
    }

    /// Returns a pong frame.
    ///
    /// - Parameters:
    ///   - payload: The payload of the ping.
    ///   - mask: A new random key for a client, `nil` for a server.
    /// - Returns: The frame; `nil` after a close frame.
    public func pong(_ payload: Span<UInt8>, mask: UInt32? = nil) -> [UInt8]? {
        maySend(mask) ? FrameEncoder.frame(.pong, payload: payload, mask: mask) : nil
    }

    /// Returns the close frame that begins or completes the closing handshake; this side's last frame.
    ///
    /// - Parameters:
    ///   - code: A code that is valid on the wire; `nil` for an empty payload.
    ///   - reason: The reason, truncated to 123 bytes at a scalar's boundary; ignored without a code.
    ///   - mask: A new random key for a client, `nil` for a server.
    /// - Returns: The frame; `nil` if one was made before.
    public mutating func close(
        _ code: CloseCode?,
        reason: String = "",
        mask: UInt32? = nil
    ) -> [UInt8]? {
        guard maySend(mask) else { return nil }
        isCloseSent = true
        if isClosed { compression?.release() }
        return FrameEncoder.close(code, reason: reason, mask: mask)
    }

    /// Returns the answer to the peer's close frame, with the same code (§5.5.1); `nil` if this side closed first.
    ///
    /// `mask` is a new random key for a client, `nil` for a server.
    public mutating func answerClose(mask: UInt32? = nil) -> [UInt8]? {
        precondition(isCloseReceived, "there is no close frame to answer")
        return close(receivedCloseCode, mask: mask)
    }

    private func maySend(_ mask: UInt32?) -> Bool {
        precondition((mask != nil) == (role == .client), "a client masks, a server does not (§5.1)")
        return !isCloseSent
    }
}

extension WebSocketEndpoint {
    private mutating func read(
        _ bytes: inout MutableSpan<UInt8>,
        at position: inout Int
    ) throws(WebSocketError) -> Incoming? {
        while true {
            if let message, message.missingLength > 0 {
                let count = min(message.missingLength, bytes.count - position)
                guard count > 0 else { return nil }
                try message.append(&bytes, in: position..<position + count)
                position += count
                if let whole = try finish(message) { return whole }
                continue
            }
            let header = try FrameHeader.parse(
                bytes.span,
                at: position,
                role: role,
                allowsCompression: compression != nil
            )
            guard let header else { return nil }
            let start = position + header.length
            if header.opcode.isControl {
                guard bytes.count - start >= header.payloadLength else { return nil }
                position = start + header.payloadLength
                return try control(header, &bytes, in: start..<position)
            }
            position = start
            if let whole = try begin(header, &bytes, at: &position) { return whole }
        }
    }

    /// Begins a data frame; returns the message at once if it is complete.
    private mutating func begin(
        _ header: FrameHeader,
        _ bytes: inout MutableSpan<UInt8>,
        at position: inout Int
    ) throws(WebSocketError) -> Incoming? {
        guard header.opcode != .continuation else {
            guard let message else { throw .unexpectedContinuation }
            try message.begin(header)
            return header.payloadLength == 0 ? try finish(message) : nil
        }
        guard message == nil else { throw .interruptedMessage }
        let kind: MessageKind = header.opcode == .text ? .text : .binary
        let isWhole = header.isFinal && header.payloadLength <= bytes.count - position
        if isWhole, !header.isCompressed {
            guard header.payloadLength <= limits.messageLengthMax else {
                throw .messageTooLong(limit: limits.messageLengthMax)
            }
            let range = position..<position + header.payloadLength
            position = range.upperBound
            unmask(header, &bytes, in: range)
            if kind == .text {
                var validator = UTF8Validator()
                guard validator.accept(bytes.span.extracting(range)), validator.isComplete else {
                    throw .invalidText
                }
            }
            return Incoming(kind: kind == .text ? .text : .binary, payload: .within(range))
        }
        // The limits are checked when a length is announced, before anything is buffered.
        let compression = header.isCompressed ? self.compression : nil
        let message = IncompleteMessage(kind: kind, compression: compression, limits: limits)
        try message.begin(header)
        self.message = message
        return header.payloadLength == 0 ? try finish(message) : nil
    }

    private mutating func finish(
        _ message: IncompleteMessage
    ) throws(WebSocketError) -> Incoming? {
        guard let payload = try message.finished() else { return nil }
        self.message = nil
        return Incoming(
            kind: message.kind == .text ? .text : .binary,
            payload: .assembled(payload)
        )
    }

    /// Parses a complete control frame (§5.5).
    private mutating func control(
        _ header: FrameHeader,
        _ bytes: inout MutableSpan<UInt8>,
        in range: Range<Int>
    ) throws(WebSocketError) -> Incoming {
        unmask(header, &bytes, in: range)
        switch header.opcode {
        case .ping: return Incoming(kind: .ping, payload: .within(range))
        case .pong: return Incoming(kind: .pong, payload: .within(range))
        default: break
        }
        let code = try closeCode(bytes.span.extracting(range))
        isCloseReceived = true
        receivedCloseCode = code
        message = nil
        if isClosed { compression?.release() }
        let reason = min(range.lowerBound + 2, range.upperBound)..<range.upperBound
        return Incoming(kind: .close(code), payload: .within(reason))
    }

    /// Checks the payload of a close frame (§5.5.1, §7.4).
    private func closeCode(_ payload: Span<UInt8>) throws(WebSocketError) -> CloseCode? {
        guard !payload.isEmpty else { return nil }
        guard payload.count >= 2 else { throw .truncatedCloseCode }
        let code = CloseCode(rawValue: UInt16(payload[0]) << 8 | UInt16(payload[1]))
        guard code.isValidOnWire else { throw .invalidCloseCode(code.rawValue) }
        var validator = UTF8Validator()
        guard validator.accept(payload.extracting(2...)), validator.isComplete else {
            throw .invalidCloseReason
        }
        return code
    }

    private func unmask(
        _ header: FrameHeader,
        _ bytes: inout MutableSpan<UInt8>,
        in range: Range<Int>
    ) {
        if let mask = header.mask { Mask.apply(mask, to: &bytes, in: range) }
    }
}
