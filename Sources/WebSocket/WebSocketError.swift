/// A rule that a peer violated; the connection has to be failed (RFC 6455 §7.1.7).
public enum WebSocketError: Error, Hashable, Sendable {
    /// A reserved bit is set without an extension that defines it (§5.2). The value has the bits RSV1–RSV3.
    case reservedBits(UInt8)
    /// The opcode is reserved (§5.2).
    case reservedOpcode(UInt8)
    /// A client's frame is not masked (§5.1).
    case unmaskedFrame
    /// A server's frame is masked (§5.1).
    case maskedFrame
    /// The length field is longer than necessary (§5.2).
    case lengthNotMinimal
    /// The most significant bit of a 64-bit length is set (§5.2).
    case lengthOver63Bits
    /// A control frame is fragmented (§5.5).
    case fragmentedControlFrame(Opcode)
    /// A control frame's payload is longer than 125 bytes (§5.5).
    case controlFrameTooLong(Opcode)
    /// A continuation frame arrived without a message to continue (§5.4).
    case unexpectedContinuation
    /// A new message began before the last fragment of the previous one (§5.4).
    case interruptedMessage
    /// The message is longer than `limit` bytes.
    case messageTooLong(limit: Int)
    /// The message has more than `limit` fragments.
    case tooManyFragments(limit: Int)
    /// A text message is not UTF-8 (§8.1).
    case invalidText
    /// A close frame's payload is a single byte (§5.5.1).
    case truncatedCloseCode
    /// A close frame has a code that must not be sent (§7.4).
    case invalidCloseCode(UInt16)
    /// A close frame's reason is not UTF-8 (§5.5.1).
    case invalidCloseReason
    /// A compressed message cannot be inflated (RFC 7692 §7.2.2).
    case corruptCompression

    /// The code to close with (§7.4.1).
    public var closeCode: CloseCode {
        switch self {
        case .messageTooLong, .tooManyFragments: .messageTooBig
        case .invalidText, .invalidCloseReason, .corruptCompression: .invalidPayload
        default: .protocolError
        }
    }
}

extension WebSocketError: CustomStringConvertible {
    /// A sentence short enough for the reason of a close frame.
    public var description: String {
        switch self {
        case .reservedBits(let bits): "reserved bits 0b\(binary(bits)) are set in a frame's header"
        case .reservedOpcode(let opcode): "opcode \(opcode) is reserved"
        case .unmaskedFrame: "a client's frame must be masked"
        case .maskedFrame: "a server's frame must not be masked"
        case .lengthNotMinimal: "a payload length takes more bytes than it needs"
        case .lengthOver63Bits: "a payload length exceeds 63 bits"
        case .fragmentedControlFrame(let opcode): "a \(opcode) frame must not be fragmented"
        case .controlFrameTooLong(let opcode): "a \(opcode) frame carries at most 125 bytes"
        case .unexpectedContinuation: "a continuation frame came without a message to continue"
        case .interruptedMessage: "a new message began before the last one ended"
        case .messageTooLong(let limit): "the message exceeds the limit of \(limit) bytes"
        case .tooManyFragments(let limit): "the message has more than \(limit) fragments"
        case .invalidText: "the text is not UTF-8"
        case .truncatedCloseCode: "a close frame's payload is a single byte"
        case .invalidCloseCode(let code): "close code \(code) must not be sent"
        case .invalidCloseReason: "the close reason is not UTF-8"
        case .corruptCompression: "the compressed message does not inflate"
        }
    }

    private func binary(_ bits: UInt8) -> String {
        let digits = String(bits, radix: 2)
        return String(repeating: "0", count: 3 - digits.count) + digits
    }
}
