import Primitives

/// The escapes of a JSON string (RFC 8259 §7).
package enum JSONEscapes {
    /// U+FFFD, the value of an escape that is half of a surrogate pair.
    static let replacement: UInt32 = 0xFFFD

    /// Decodes the escapes of a string that the scanner has validated.
    ///
    /// - Parameters:
    ///   - content: The text between the quotes.
    ///   - length: The length of the result, in bytes.
    ///   - keepsLoneSurrogates: Whether half of a surrogate pair stays an escape, which is longer than U+FFFD.
    /// - Returns: The value as UTF-8.
    static func decode(
        _ content: Span<UInt8>,
        length: Int,
        keepsLoneSurrogates: Bool = false
    ) -> [UInt8] {
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
            } else if keepsLoneSurrogates {
                bytes.append(content.extracting(index - 6..<index))
            } else {
                append(replacement, to: &bytes)
            }
        }
        return bytes
    }

    /// Decodes a string that the scanner has validated into UTF-16, which can represent half of a surrogate pair.
    ///
    /// - Parameter content: The text between the quotes.
    /// - Returns: The code units.
    static func codeUnits(_ content: Span<UInt8>) -> [UInt16] {
        var units: [UInt16] = []
        var start = 0
        while start < content.count {
            let end = loneSurrogate(in: content, from: start)
            let whole = decode(content.extracting(start..<(end ?? content.count)), length: 0)
            units += String(decoding: whole, as: UTF8.self).utf16
            guard let end else { break }
            units.append(hex(content, at: end + 2))
            start = end + 6
        }
        return units
    }

    /// Replaces each escape that is half of a surrogate pair by that of U+FFFD, for decoders that refuse it.
    ///
    /// - Parameter json: JSON text.
    /// - Returns: The text, or `nil` if it has no such escape.
    package static func repaired(_ json: [UInt8]) -> [UInt8]? {
        guard var index = loneSurrogate(in: json.span, from: 0) else { return nil }
        var repaired = json
        while true {
            repaired.replaceSubrange(index + 2..<index + 6, with: "fffd".utf8)
            guard let next = loneSurrogate(in: json.span, from: index + 6) else { return repaired }
            index = next
        }
    }

    /// Finds the first escape from `start` on that is half of a surrogate pair.
    ///
    /// - Parameters:
    ///   - text: JSON text, or a part of it.
    ///   - start: The offset to begin at, not inside an escape.
    /// - Returns: The offset of its backslash, or `nil`.
    static func loneSurrogate(in text: Span<UInt8>, from start: Int) -> Int? {
        var index = start
        while index + 5 < text.count {
            guard text[index] == UInt8(ascii: "\\") else {
                index += 1
                continue
            }
            guard text[index + 1] == UInt8(ascii: "u") else {
                index += 2
                continue
            }
            let unit = hex(text, at: index + 2)
            if unit & 0xF800 != 0xD800 {
                index += 6
            } else if unit & 0xFC00 == 0xD800, lowSurrogate(text, at: index + 6) != nil {
                index += 12
            } else {
                return index
            }
        }
        return nil
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
