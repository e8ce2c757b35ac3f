/// Validates UTF-8 incrementally; fails at the first byte that no continuation can make valid
/// (RFC 3629 §4, required by RFC 6455 §8.1).
public struct UTF8Validator: Sendable, Hashable {
    /// The number of continuation bytes that the current scalar still needs.
    @usableFromInline var missing: UInt8 = 0
    /// The lowest valid next continuation byte; the range is narrower than 80–BF only after E0, ED, F0, F4.
    @usableFromInline var lowest: UInt8 = 0x80
    @usableFromInline var highest: UInt8 = 0xBF

    /// Makes a validator at the beginning of a text.
    @inlinable
    public init() {}

    /// Whether the text may end here: no scalar is incomplete.
    @inlinable
    public var isComplete: Bool { missing == 0 }

    /// Continues with the next bytes of the text.
    ///
    /// - Parameter bytes: A part of the text, which may begin and end inside a scalar.
    /// - Returns: Whether a valid text can begin with the bytes so far. After `false` the state is undefined.
    @inlinable
    public mutating func accept(_ bytes: Span<UInt8>) -> Bool {
        var index = 0
        while index < bytes.count {
            if missing == 0 {
                index = bytes.firstIndex(from: index) { $0.notASCII }
                guard index < bytes.count else { return true }
                guard let lead = UTF8Lead(bytes[index]) else { return false }
                (missing, lowest, highest) = (lead.followerCount, lead.lowest, lead.highest)
            } else {
                guard bytes[index] >= lowest, bytes[index] <= highest else { return false }
                (missing, lowest, highest) = (missing - 1, 0x80, 0xBF)
            }
            index += 1
        }
        return true
    }
}

/// The properties of a non-ASCII scalar that its first byte determines (RFC 3629 §4).
public struct UTF8Lead {
    /// The number of bytes that follow, one to three; the second and the third are 80–BF.
    public let followerCount: UInt8
    /// The lowest valid second byte.
    public let lowest: UInt8
    /// The highest valid second byte.
    public let highest: UInt8

    /// Makes a lead of a first byte; `nil` if no non-ASCII scalar begins with it.
    @inlinable
    public init?(_ byte: UInt8) {
        var (lowest, highest): (UInt8, UInt8) = (0x80, 0xBF)
        switch byte {
        case 0xC2...0xDF: followerCount = 1  // C0 and C1 could only encode ASCII in two bytes.
        case 0xE0...0xEF:
            followerCount = 2
            if byte == 0xE0 { lowest = 0xA0 }  // Below: overlong encodings.
            if byte == 0xED { highest = 0x9F }  // Above: the surrogates of UTF-16.
        case 0xF0...0xF4:
            followerCount = 3
            if byte == 0xF0 { lowest = 0x90 }  // Below: overlong encodings.
            if byte == 0xF4 { highest = 0x8F }  // Above: beyond U+10FFFF.
        default: return nil
        }
        (self.lowest, self.highest) = (lowest, highest)
    }
}

extension String {
    /// Creates a string of UTF-8; `nil` if the bytes are not valid.
    ///
    /// The standard library's `init(validating:as:)` needs iOS 18 and macOS 15.
    package init?(utf8 bytes: [UInt8]) {
        var validator = UTF8Validator()
        guard validator.accept(bytes.span), validator.isComplete else { return nil }
        self.init(decoding: bytes, as: UTF8.self)
    }
}
