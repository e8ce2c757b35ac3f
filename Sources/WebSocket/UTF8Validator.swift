/// Checks UTF-8 piece by piece and refuses at the first byte that no continuation can mend
/// (RFC 3629 §4, asked for by RFC 6455 §8.1).
public struct UTF8Validator: Sendable, Hashable {
    /// Continuation bytes that the scalar begun still needs.
    private var missing: UInt8 = 0
    /// What the next continuation byte must lie in; narrower than 80–BF only after E0, ED, F0, F4.
    private var lowest: UInt8 = 0x80
    private var highest: UInt8 = 0xBF

    /// A validator at the beginning of a text.
    public init() {}

    /// Whether the text may end here: no scalar is incomplete.
    public var isComplete: Bool { missing == 0 }

    /// Continues with the next bytes of the text.
    ///
    /// - Parameter bytes: Any piece; it may begin and end inside a scalar.
    /// - Returns: Whether a UTF-8 text can begin like this. After `false` the state has no meaning.
    public mutating func accept(_ bytes: Span<UInt8>) -> Bool {
        bytes.withUnsafeBytes { buffer in
            var offset = 0
            while offset < buffer.count {
                if missing == 0 {
                    offset = Self.endOfASCII(in: buffer, from: offset)
                    guard offset < buffer.count else { return true }
                    guard begin(buffer[offset]) else { return false }
                } else {
                    guard buffer[offset] >= lowest, buffer[offset] <= highest else { return false }
                    (missing, lowest, highest) = (missing - 1, 0x80, 0xBF)
                }
                offset += 1
            }
            return true
        }
    }

    /// The first byte at or after `offset` that is not ASCII, found eight bytes at a time.
    private static func endOfASCII(in buffer: UnsafeRawBufferPointer, from offset: Int) -> Int {
        var offset = offset
        // SAFETY: the loop reads a word only while eight bytes are left.
        while buffer.count - offset >= 8 {
            let word = buffer.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            let high = UInt64(littleEndian: word) & 0x8080_8080_8080_8080
            guard high == 0 else { return offset + high.trailingZeroBitCount / 8 }
            offset += 8
        }
        while offset < buffer.count, buffer[offset] < 0x80 { offset += 1 }
        return offset
    }

    /// Takes the first byte of a scalar that is not ASCII.
    private mutating func begin(_ byte: UInt8) -> Bool {
        switch byte {
        case 0xC2...0xDF: missing = 1  // C0 and C1 could only spell ASCII at double length.
        case 0xE0: (missing, lowest) = (2, 0xA0)  // Below: shorter spellings exist.
        case 0xED: (missing, highest) = (2, 0x9F)  // Above: the surrogates of UTF-16.
        case 0xE1...0xEF: missing = 2
        case 0xF0: (missing, lowest) = (3, 0x90)  // Below: shorter spellings exist.
        case 0xF1...0xF3: missing = 3
        case 0xF4: (missing, highest) = (3, 0x8F)  // Above: past U+10FFFF.
        default: return false
        }
        return true
    }
}
