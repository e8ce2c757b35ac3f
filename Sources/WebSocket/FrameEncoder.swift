/// Writes frames (RFC 6455 §5.2), always with the shortest length.
///
/// A server's frame has no mask and therefore nothing of its receiver in it: encoded once, the same
/// `[UInt8]` goes to every subscriber.
///
/// ```swift
/// let frame = FrameEncoder.frame(.text, payloadLength: event.length) { event.append(to: &$0) }
/// ```
public enum FrameEncoder {
    /// The length of a frame's header, in bytes: 2 to 14.
    public static func headerLength(payloadLength: Int, isMasked: Bool) -> Int {
        (payloadLength <= 125 ? 2 : payloadLength <= 65535 ? 4 : 10) + (isMasked ? 4 : 0)
    }

    /// Appends a header; the payload, already masked if there is a mask, is to follow.
    ///
    /// - Parameters:
    ///   - opcode: What the frame carries; a control frame must be final, uncompressed and hold at
    ///     most 125 bytes.
    ///   - isFinal: Whether the message ends with this frame.
    ///   - isCompressed: Whether this is the first frame of a message that went through a
    ///     ``Deflater``.
    ///   - payloadLength: Bytes that will follow.
    ///   - mask: A fresh random key from a client, `nil` from a server.
    ///   - bytes: Where to append.
    public static func appendHeader(
        _ opcode: Opcode,
        isFinal: Bool = true,
        isCompressed: Bool = false,
        payloadLength: Int,
        mask: UInt32? = nil,
        to bytes: inout [UInt8]
    ) {
        precondition(
            !opcode.isControl || (isFinal && !isCompressed && payloadLength <= 125),
            "a control frame is whole, plain and short"
        )
        bytes.append(opcode.rawValue | (isFinal ? 0x80 : 0) | (isCompressed ? 0x40 : 0))
        let maskBit: UInt8 = mask == nil ? 0 : 0x80
        switch payloadLength {
        case ...125:
            bytes.append(maskBit | UInt8(payloadLength))
        case ...65535:
            bytes.append(maskBit | 126)
            append(UInt16(payloadLength), to: &bytes)
        default:
            bytes.append(maskBit | 127)
            append(UInt64(payloadLength), to: &bytes)
        }
        if let mask { append(mask, to: &bytes) }
    }

    /// Appends a whole frame.
    ///
    /// - Parameters:
    ///   - opcode: What the frame carries.
    ///   - isFinal: Whether the message ends with this frame.
    ///   - isCompressed: Whether this is the first frame of a message that went through a
    ///     ``Deflater``.
    ///   - payload: The payload, not masked.
    ///   - mask: A fresh random key from a client, `nil` from a server.
    ///   - bytes: Where to append.
    public static func append(
        _ opcode: Opcode,
        isFinal: Bool = true,
        isCompressed: Bool = false,
        payload: Span<UInt8>,
        mask: UInt32? = nil,
        to bytes: inout [UInt8]
    ) {
        append(
            opcode,
            isFinal: isFinal,
            isCompressed: isCompressed,
            payloadLength: payload.count,
            mask: mask,
            to: &bytes
        ) { bytes in
            payload.withUnsafeBufferPointer { bytes.append(contentsOf: $0) }
        }
    }

    private static func append(
        _ opcode: Opcode,
        isFinal: Bool = true,
        isCompressed: Bool = false,
        payloadLength: Int,
        mask: UInt32?,
        to bytes: inout [UInt8],
        writing write: (inout [UInt8]) -> Void
    ) {
        let header = headerLength(payloadLength: payloadLength, isMasked: mask != nil)
        if bytes.isEmpty { bytes.reserveCapacity(header + payloadLength) }
        appendHeader(
            opcode,
            isFinal: isFinal,
            isCompressed: isCompressed,
            payloadLength: payloadLength,
            mask: mask,
            to: &bytes
        )
        let start = bytes.count
        write(&bytes)
        if let mask {
            var written = bytes.mutableSpan
            Mask.apply(mask, to: &written, in: start..<start + payloadLength)
        }
    }

    /// Appends a server's frame whose payload has an unknown length.
    ///
    /// - Parameters:
    ///   - opcode: What the frame carries.
    ///   - bytes: Where to append.
    ///   - write: Appends the payload; a control frame has room for 125 bytes.
    /// - Returns: Where the payload lies.
    @discardableResult
    public static func append(
        _ opcode: Opcode,
        to bytes: inout [UInt8],
        writing write: (inout [UInt8]) -> Void
    ) -> Range<Int> {
        let start = bytes.count
        // The header of a short payload; a long one is moved for its own.
        bytes.append(opcode.rawValue | 0x80)
        bytes.append(0)
        write(&bytes)
        let length = bytes.count - start - 2
        if length <= 125 {
            bytes[start + 1] = UInt8(length)
            return start + 2..<bytes.count
        }
        var header: [UInt8] = []
        appendHeader(opcode, payloadLength: length, to: &header)
        bytes.replaceSubrange(start..<start + 2, with: header)
        return start + header.count..<bytes.count
    }

    /// A whole frame in one allocation.
    ///
    /// - Parameters:
    ///   - opcode: What the frame carries.
    ///   - isCompressed: Whether the payload went through a ``Deflater``.
    ///   - payload: The payload, not masked.
    ///   - mask: A fresh random key from a client, `nil` from a server.
    /// - Returns: Header and payload.
    public static func frame(
        _ opcode: Opcode,
        isCompressed: Bool = false,
        payload: Span<UInt8>,
        mask: UInt32? = nil
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        append(opcode, isCompressed: isCompressed, payload: payload, mask: mask, to: &bytes)
        return bytes
    }

    /// A server's frame whose payload is written straight behind its header, in one allocation.
    ///
    /// - Parameters:
    ///   - opcode: What the frame carries.
    ///   - payloadLength: Bytes that `write` will append; anything else traps.
    ///   - write: Appends the payload.
    /// - Returns: Header and payload.
    /// - Throws: What `write` throws.
    public static func frame<E: Error>(
        _ opcode: Opcode,
        payloadLength: Int,
        writing write: (inout [UInt8]) throws(E) -> Void
    ) throws(E) -> [UInt8] {
        var bytes: [UInt8] = []
        let header = headerLength(payloadLength: payloadLength, isMasked: false)
        bytes.reserveCapacity(header + payloadLength)
        appendHeader(opcode, payloadLength: payloadLength, to: &bytes)
        try write(&bytes)
        precondition(bytes.count == header + payloadLength, "payload differs from its length")
        return bytes
    }

    /// A close frame (§5.5.1).
    ///
    /// - Parameters:
    ///   - code: Must be valid on the wire; `nil` sends an empty payload, without a reason.
    ///   - reason: Cut at a scalar's boundary to the 123 bytes that there is room for.
    ///   - mask: A fresh random key from a client, `nil` from a server.
    /// - Returns: The whole frame.
    public static func close(
        _ code: CloseCode?,
        reason: String = "",
        mask: UInt32? = nil
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        guard let code else {
            append(.close, payloadLength: 0, mask: mask, to: &bytes) { _ in }
            return bytes
        }
        precondition(code.isValidOnWire, "close code \(code.rawValue) must not be sent")
        let text = reason.utf8
        let length = cutLength(of: text.span)
        append(.close, payloadLength: 2 + length, mask: mask, to: &bytes) { bytes in
            append(code.rawValue, to: &bytes)
            text.span.extracting(..<length).withUnsafeBufferPointer {
                bytes.append(contentsOf: $0)
            }
        }
        return bytes
    }

    /// How much of a reason a close frame has room for, without a part of a scalar.
    private static func cutLength(of reason: Span<UInt8>) -> Int {
        var length = min(reason.count, 123)
        while length < reason.count, reason[length] & 0xC0 == 0x80 { length -= 1 }
        return length
    }

    private static func append(_ value: some FixedWidthInteger, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }
}
