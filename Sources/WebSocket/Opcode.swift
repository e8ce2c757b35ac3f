/// What a frame carries (RFC 6455 §5.2); 3–7 and 11–15 are reserved.
public enum Opcode: UInt8, Sendable, Hashable {
    /// The next fragment of the message begun before.
    case continuation = 0
    /// A text message, or its first fragment.
    case text = 1
    /// A binary message, or its first fragment.
    case binary = 2
    /// The closing handshake (§5.5.1).
    case close = 8
    /// A question whether the peer is there (§5.5.2).
    case ping = 9
    /// The answer to a ping, or an unasked sign of life (§5.5.3).
    case pong = 10

    /// Whether the frame may stand between fragments, is short and is never fragmented (§5.5).
    public var isControl: Bool { rawValue & 0x8 != 0 }
}

/// What a whole message is (RFC 6455 §5.6).
public enum MessageKind: Sendable, Hashable {
    /// UTF-8 text.
    case text
    /// Any bytes.
    case binary

    /// The opcode of a message's first frame.
    public var opcode: Opcode { self == .text ? .text : .binary }
}
