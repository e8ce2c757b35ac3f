/// The opcode of a frame (RFC 6455 §5.2); 3–7 and 11–15 are reserved.
public enum Opcode: UInt8, Sendable, Hashable {
    /// A further fragment of a message.
    case continuation = 0
    /// A text message, or its first fragment.
    case text = 1
    /// A binary message, or its first fragment.
    case binary = 2
    /// The closing handshake (§5.5.1).
    case close = 8
    /// A ping, to be answered by a pong (§5.5.2).
    case ping = 9
    /// The answer to a ping, or an unsolicited heartbeat (§5.5.3).
    case pong = 10

    /// Whether the frame is a control frame: allowed between fragments, short and never fragmented (§5.5).
    public var isControl: Bool { rawValue & 0x8 != 0 }
}

/// The type of a message (RFC 6455 §5.6).
public enum MessageKind: Sendable, Hashable {
    /// UTF-8 text.
    case text
    /// Any bytes.
    case binary

    /// The opcode of a message's first frame.
    public var opcode: Opcode { self == .text ? .text : .binary }
}

/// The side of a connection.
///
/// Only a client masks its frames (RFC 6455 §5.1).
public enum Role: Sendable, Hashable {
    /// The side that opened the connection.
    case client
    /// The side that accepted it.
    case server
}
