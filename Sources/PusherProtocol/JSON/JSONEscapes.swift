import Primitives

/// The escapes of a JSON string (RFC 8259 §7).
enum JSONEscapes {
    /// U+FFFD, the value of an escape that is half of a surrogate pair.
    static let replacement: UInt32 = 0xFFFD

    /// Decodes the escapes of a string that the scanner has validated.
    ///
    /// - Parameters:
    ///   - content: The text between the quotes.
    ///   - length: The length of the result, in bytes.
    /// - Returns: The value as UTF-8.
    static func decode(_ content: Span<UInt8>, length: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(length)
        var index = 0
        while index < content.count {
            let byte = content[index]
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                index += 1
                continue
            }
            let letter = content[index + 1]
            index += 2
            guard letter == UInt8(ascii: "u") else {
                bytes.append(character(of: letter))
                continue
            }
            let unit = UInt32(hex(content, at: index))
            index += 4
            if unit & 0xF800 != 0xD800 {
                append(unit, to: &bytes)
            } else if unit & 0xFC00 == 0xD800, let low = lowSurrogate(content, at: index) {
                append(0x1_0000 + (unit & 0x3FF) << 10 + low & 0x3FF, to: &bytes)
                index += 6
            } else {
                append(replacement, to: &bytes)
            }
        }
        return bytes
    }

    /// The length of a scalar in UTF-8, in bytes.
    static func length(of scalar: UInt32) -> Int {
        scalar < 0x80 ? 1 : scalar < 0x800 ? 2 : scalar < 0x1_0000 ? 3 : 4
    }

    /// The byte that the escape `\` and `letter` encodes.
    private static func character(of letter: UInt8) -> UInt8 {
        switch letter {
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: letter  // The quote, the backslash and the slash.
        }
    }

    /// The low half of a surrogate pair, if its escape is at `index`.
    private static func lowSurrogate(_ text: Span<UInt8>, at index: Int) -> UInt32? {
        guard index + 5 < text.count, text[index] == UInt8(ascii: "\\"),
            text[index + 1] == UInt8(ascii: "u")
        else { return nil }
        let unit = UInt32(hex(text, at: index + 2))
        return unit & 0xFC00 == 0xDC00 ? unit : nil
    }

    private static func hex(_ content: Span<UInt8>, at index: Int) -> UInt16 {
        var value: UInt16 = 0
        for offset in 0..<4 { value = value << 4 | UInt16(content[index + offset].hexValue ?? 0) }
        return value
    }

    private static func append(_ scalar: UInt32, to bytes: inout [UInt8]) {
        func continuation(_ shift: UInt32) -> UInt8 { UInt8(0x80 | scalar >> shift & 0x3F) }
        switch length(of: scalar) {
        case 1: bytes.append(UInt8(scalar))
        case 2: bytes += [UInt8(0xC0 | scalar >> 6), continuation(0)]
        case 3: bytes += [UInt8(0xE0 | scalar >> 12), continuation(6), continuation(0)]
        default:
            bytes += [
                UInt8(0xF0 | scalar >> 18), continuation(12), continuation(6), continuation(0),
            ]
        }
    }
}
