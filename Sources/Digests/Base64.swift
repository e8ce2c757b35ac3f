/// The standard base64 alphabet with padding (RFC 4648 §4).
public enum Base64 {
    private static let padding = UInt8(ascii: "=")

    /// Returns the text of `bytes`, padded to a multiple of four characters.
    public static func encode(_ bytes: [UInt8]) -> String {
        let length = (bytes.count + 2) / 3 * 4
        // SAFETY: four characters a turn, `length` in all, are written.
        return String(unsafeUninitializedCapacity: length) { text in
            var position = 0
            for start in stride(from: 0, to: bytes.count, by: 3) {
                let count = min(3, bytes.count - start)
                var bits: UInt32 = 0
                for offset in 0..<count {
                    bits |= UInt32(bytes[start + offset]) << UInt32(16 - 8 * offset)
                }
                for group in 0..<4 {
                    let value = UInt8(truncatingIfNeeded: bits >> UInt32(18 - 6 * group)) & 0x3F
                    text[position] = group <= count ? character(of: value) : padding
                    position += 1
                }
            }
            return length
        }
    }

    private static func character(of value: UInt8) -> UInt8 {
        switch value {
        case 0..<26: UInt8(ascii: "A") + value
        case 26..<52: UInt8(ascii: "a") + value - 26
        case 52..<62: UInt8(ascii: "0") + value - 52
        case 62: UInt8(ascii: "+")
        default: UInt8(ascii: "/")
        }
    }

    /// Returns the bytes that `text` spells.
    ///
    /// - Returns: `nil` for a character outside the alphabet, wrong padding, or bits after the last byte that are
    ///   not zero (RFC 4648 §3.5): one value has one spelling.
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
