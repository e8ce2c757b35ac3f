/// Checks UTF-8 piece by piece and refuses at the first byte that no continuation can mend
/// (RFC 3629 §4, asked for by RFC 6455 §8.1).
public struct UTF8Validator: Sendable, Hashable {
    /// Continuation bytes that the scalar begun still needs.
    @usableFromInline var missing: UInt8 = 0
    /// What the next continuation byte must lie in; narrower than 80–BF only after E0, ED, F0, F4.
    @usableFromInline var lowest: UInt8 = 0x80
    @usableFromInline var highest: UInt8 = 0xBF

    /// A validator at the beginning of a text.
    @inlinable
    public init() {}

    /// Whether the text may end here: no scalar is incomplete.
    @inlinable
    public var isComplete: Bool { missing == 0 }

    /// Continues with the next bytes of the text.
    ///
    /// - Parameter bytes: Any piece; it may begin and end inside a scalar.
    /// - Returns: Whether a UTF-8 text can begin like this. After `false` the state has no meaning.
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

/// What the first byte of a scalar that is not ASCII says of those behind it (RFC 3629 §4).
public struct UTF8Lead {
    /// The number of bytes that follow, one to three; the second and the third are 80–BF.
    public let followerCount: UInt8
    /// What the first of them must lie in.
    public let lowest: UInt8
    /// See ``lowest``.
    public let highest: UInt8

    /// Reads a byte; `nil` when no such scalar begins with it.
    @inlinable
    public init?(_ byte: UInt8) {
        var (lowest, highest): (UInt8, UInt8) = (0x80, 0xBF)
        switch byte {
        case 0xC2...0xDF: followerCount = 1  // C0 and C1 could only spell ASCII at double length.
        case 0xE0...0xEF:
            followerCount = 2
            if byte == 0xE0 { lowest = 0xA0 }  // Below: shorter spellings exist.
            if byte == 0xED { highest = 0x9F }  // Above: the surrogates of UTF-16.
        case 0xF0...0xF4:
            followerCount = 3
            if byte == 0xF0 { lowest = 0x90 }  // Below: shorter spellings exist.
            if byte == 0xF4 { highest = 0x8F }  // Above: past U+10FFFF.
        default: return nil
        }
        (self.lowest, self.highest) = (lowest, highest)
    }
}
