/// Encodes frames (RFC 6455 §5.2), always with the shortest length field.
///
/// A server's frame has no mask, so it does not depend on the receiver. It is encoded once, and the same `[UInt8]` is
/// sent to every subscriber.
///
/// ```swift
/// let frame = FrameEncoder.frame(.text, payloadLength: event.length) { event.append(to: &$0) }
/// ```
public enum FrameEncoder {
    /// Returns the length of a frame's header, in bytes: 2 to 14.
    public static func headerLength(payloadLength: Int, isMasked: Bool) -> Int {
        (payloadLength <= 125 ? 2 : payloadLength <= 65535 ? 4 : 10) + (isMasked ? 4 : 0)
    }

    /// Appends a header.
    ///
    /// The caller appends the payload, masked if there is a mask.
    ///
    /// - Parameters:
    ///   - opcode: The opcode; a control frame must be final and uncompressed, with a payload of at
    ///     most 125 bytes.
    ///   - isFinal: Whether the message ends with this frame.
    ///   - isCompressed: Whether this is the first frame of a message compressed by a
    ///     ``Deflater``.
    ///   - payloadLength: The length of the payload, in bytes.
    ///   - mask: A new random key for a client, `nil` for a server.
    ///   - bytes: The bytes to append to.
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

    /// Appends a complete frame.
    ///
    /// - Parameters:
    ///   - opcode: The opcode.
    ///   - isFinal: Whether the message ends with this frame.
    ///   - isCompressed: Whether this is the first frame of a message compressed by a
    ///     ``Deflater``.
    ///   - payload: The unmasked payload.
    ///   - mask: A new random key for a client, `nil` for a server.
    ///   - bytes: The bytes to append to.
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
    ///   - opcode: The opcode.
    ///   - bytes: The bytes to append to.
    ///   - write: Appends the payload; at most 125 bytes in a control frame.
    /// - Returns: The range of the payload.
    @discardableResult
    public static func append(
        _ opcode: Opcode,
        to bytes: inout [UInt8],
        writing write: (inout [UInt8]) -> Void
    ) -> Range<Int> {
        let start = bytes.count
        // The header of a short payload; a long payload is moved to make space for a longer header.
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

    /// Returns a complete frame, with one allocation.
    ///
    /// - Parameters:
    ///   - opcode: The opcode.
    ///   - isCompressed: Whether the payload was compressed by a ``Deflater``.
    ///   - payload: The unmasked payload.
    ///   - mask: A new random key for a client, `nil` for a server.
    /// - Returns: The header and the payload.
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

    /// Returns a server's frame whose payload is written directly after its header, with one allocation.
    ///
    /// - Parameters:
    ///   - opcode: The opcode.
    ///   - payloadLength: The number of bytes that `write` appends; another number traps.
    ///   - write: Appends the payload.
    /// - Returns: The header and the payload.
    /// - Throws: The error of `write`.
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

    /// Returns a close frame (§5.5.1).
    ///
    /// - Parameters:
    ///   - code: A code that is valid on the wire; `nil` for an empty payload, without a reason.
    ///   - reason: The reason, truncated at a scalar's boundary to at most 123 bytes.
    ///   - mask: A new random key for a client, `nil` for a server.
    /// - Returns: The complete frame.
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

    /// Returns the length of the part of a reason that fits into a close frame, without a partial scalar.
    private static func cutLength(of reason: Span<UInt8>) -> Int {
        var length = min(reason.count, 123)
        while length < reason.count, reason[length] & 0xC0 == 0x80 { length -= 1 }
        return length
    }

    private static func append(_ value: some FixedWidthInteger, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }
}
