import Primitives

/// The standard base64 alphabet with padding (RFC 4648 §4).
public enum Base64 {
    private static let padding = UInt8(ascii: "=")
    private static let alphabet: StaticString =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

    /// Returns the text of `bytes`, padded to a multiple of four characters.
    public static func encode(_ bytes: [UInt8]) -> String { encode(bytes.span) }

    /// Returns the text of `bytes`, padded to a multiple of four characters.
    public static func encode(_ bytes: Span<UInt8>) -> String {
        let length = (bytes.count + 2) / 3 * 4
        // SAFETY: four characters are written per iteration, `length` in total.
        return String(unsafeUninitializedCapacity: length) { text in
            var position = 0
            for start in stride(from: 0, to: bytes.count, by: 3) {
                let second = start + 1 < bytes.count ? UInt32(bytes[start + 1]) : 0
                let third = start + 2 < bytes.count ? UInt32(bytes[start + 2]) : 0
                let bits = UInt32(bytes[start]) << 16 | second << 8 | third
                text[position] = character(of: bits >> 18)
                text[position + 1] = character(of: bits >> 12)
                text[position + 2] = character(of: bits >> 6)
                text[position + 3] = character(of: bits)
                position += 4
            }
            // Padding replaces the characters without a byte.
            for missing in 0..<(length / 4 * 3 - bytes.count) {
                text[length - 1 - missing] = padding
            }
            return length
        }
    }

    /// Returns the character of the lowest six bits.
    private static func character(of bits: UInt32) -> UInt8 {
        // SAFETY: the alphabet has 64 characters.
        alphabet.utf8Start[Int(bits & 0x3F)]
    }

    /// Decodes `text`.
    ///
    /// - Returns: The bytes. `nil` for a character outside the alphabet, wrong padding, or bits after the last byte
    ///   that are not zero (RFC 4648 §3.5), so that each value has one encoding.
    public static func decode(_ text: Span<UInt8>) -> [UInt8]? {
        guard text.count.isMultiple(of: 4) else { return nil }
        var length = text.count
        while length > 0, text.count - length < 2, text[length - 1] == padding { length -= 1 }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(length * 3 / 4)
        var bits: UInt32 = 0
        var bitCount = 0
        for index in 0..<length {
            guard let value = value(of: text[index]) else { return nil }
            bits = bits << 6 | value
            bitCount += 6
            if bitCount >= 8 {
                bitCount -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(bitCount)))
            }
        }
        return bits & (1 << UInt32(bitCount) - 1) == 0 ? bytes : nil
    }

    private static func value(of character: UInt8) -> UInt32? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
