/// The first 2 to 14 bytes of a frame (RFC 6455 §5.2).
package struct FrameHeader: Equatable {
    package var opcode: Opcode
    package var isFinal: Bool
    /// RSV1, which permessage-deflate sets on the first frame of a compressed message.
    package var isCompressed: Bool
    /// The length of the payload, in bytes.
    package var payloadLength: Int
    /// The masking key; `nil` if the payload is not masked.
    package var mask: UInt32?
    /// The length of the header, in bytes.
    package var length: Int

    /// Parses a header; throws at the first byte that violates a rule.
    ///
    /// - Parameters:
    ///   - bytes: The received bytes.
    ///   - start: The frame's first index.
    ///   - role: The receiver's role: a server's peer masks its frames, a client's does not.
    ///   - allowsCompression: Whether compression was agreed, so that RSV1 may be set.
    /// - Returns: The header; `nil` if more bytes are needed.
    /// - Throws: The first rule that the header violates.
    package static func parse(
        _ bytes: Span<UInt8>,
        at start: Int,
        role: Role,
        allowsCompression: Bool
    ) throws(WebSocketError) -> FrameHeader? {
        guard start < bytes.count else { return nil }
        let first = bytes[start]
        let (isFinal, isCompressed) = (first & 0x80 != 0, first & 0x40 != 0)
        guard let opcode = Opcode(rawValue: first & 0x0F) else {
            throw .reservedOpcode(first & 0x0F)
        }
        // RFC 7692 §6: only the first frame of a message has the compression bit.
        let allowed: UInt8 = allowsCompression && (opcode == .text || opcode == .binary) ? 0x40 : 0
        guard first & 0x70 & ~allowed == 0 else { throw .reservedBits(first >> 4 & 0x7) }
        guard isFinal || !opcode.isControl else { throw .fragmentedControlFrame(opcode) }

        guard start + 1 < bytes.count else { return nil }
        let second = bytes[start + 1]
        let isMasked = second & 0x80 != 0
        guard isMasked || role == .client else { throw .unmaskedFrame }
        guard !isMasked || role == .server else { throw .maskedFrame }
        let shortLength = second & 0x7F
        guard shortLength <= 125 || !opcode.isControl else { throw .controlFrameTooLong(opcode) }

        var end = start + 2
        var payloadLength = Int(shortLength)
        if shortLength > 125 {
            end += shortLength == 126 ? 2 : 8
            if shortLength == 127, start + 2 < bytes.count, bytes[start + 2] & 0x80 != 0 {
                throw .lengthOver63Bits
            }
            guard end <= bytes.count else { return nil }
            let length = (start + 2..<end).reduce(UInt64(0)) { $0 << 8 | UInt64(bytes[$1]) }
            guard length > (shortLength == 126 ? 125 : 65535) else { throw .lengthNotMinimal }
            payloadLength = Int(clamping: length)  // Where Int has 32 bits, still past any limit.
        }
        guard isMasked else {
            return FrameHeader(
                opcode: opcode,
                isFinal: isFinal,
                isCompressed: isCompressed,
                payloadLength: payloadLength,
                mask: nil,
                length: end - start
            )
        }
        guard end + 4 <= bytes.count else { return nil }
        let mask = (end..<end + 4).reduce(UInt32(0)) { $0 << 8 | UInt32(bytes[$1]) }
        return FrameHeader(
            opcode: opcode,
            isFinal: isFinal,
            isCompressed: isCompressed,
            payloadLength: payloadLength,
            mask: mask,
            length: end + 4 - start
        )
    }
}
