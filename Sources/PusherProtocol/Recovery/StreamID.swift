import Primitives

/// The ID of a stream: the numbered sequence of a channel's messages.
///
/// A channel whose messages may have been lost, for example in a restart, continues under another ID. So no position of
/// the former stream is mistaken for one of the new stream.
public struct StreamID: Hashable, Sendable {
    /// The longest ID, in characters.
    public static let lengthMax = 64

    /// The ID: `A`–`Z`, `a`–`z`, `0`–`9`, `_`, `-` and `.`; opaque to clients.
    public let text: String

    /// Creates an ID; `nil` for an empty or too long one, or one with other characters.
    public init?(_ text: String) {
        let isValid = text.withUTF8Bytes { bytes in
            bytes.indices.allSatisfy { Self.isAllowed(bytes[$0]) }
        }
        guard isValid, (1...Self.lengthMax).contains(text.utf8.count) else { return nil }
        self.text = text
    }

    /// Creates an ID of eleven characters from 64 random bits.
    public init(bits: UInt64) {
        let alphabet = Array(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-".utf8
        )
        let digits = (0..<11).map { alphabet[Int(bits >> UInt64($0 * 6) & 63)] }
        text = String(decoding: digits, as: UTF8.self)
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"),
            UInt8(ascii: "."):
            true
        default: false
        }
    }
}

extension StreamID: CustomStringConvertible {
    /// The ID in wire format.
    public var description: String { text }
}

/// A position in a channel's stream: the message with the number `serial`, and all earlier ones, are known.
public struct ChannelPosition: Hashable, Sendable {
    /// The largest serial: 2^53 − 1, which every JSON reader represents exactly.
    public static let serialMax = UInt64(SafeInteger.max)

    /// The stream.
    public let stream: StreamID
    /// The number of a message, from 1; 0 is the position before the first.
    public let serial: UInt64

    /// Creates a position.
    public init(stream: StreamID, serial: UInt64) {
        self.stream = stream
        self.serial = serial
    }
}

extension ChannelPosition: CustomStringConvertible {
    /// The stream and the serial, separated by a space.
    public var description: String { "\(stream) \(serial)" }
}
