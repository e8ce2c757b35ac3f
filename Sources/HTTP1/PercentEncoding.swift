/// Percent-encoding of RFC 3986 §2.1.
public enum PercentEncoding {
    /// Decodes `%XX`.
    ///
    /// - Parameters:
    ///   - text: The encoded bytes.
    ///   - plusIsSpace: Whether `+` stands for a space, as in forms.
    /// - Returns: The bytes; nil when a `%` is not followed by two hexadecimal digits.
    public static func decode(_ text: Span<UInt8>, plusIsSpace: Bool = false) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var index = 0
        while index < text.count {
            let byte = text[index]
            if byte == UInt8(ascii: "%") {
                guard index + 2 < text.count, let high = Octet.hexValue(text[index + 1]),
                    let low = Octet.hexValue(text[index + 2])
                else { return nil }
                bytes.append(high << 4 | low)
                index += 3
            } else {
                bytes.append(plusIsSpace && byte == UInt8(ascii: "+") ? Octet.space : byte)
                index += 1
            }
        }
        return bytes
    }

    /// Decodes `%XX` to text.
    ///
    /// - Parameters:
    ///   - text: The encoded text.
    ///   - plusIsSpace: Whether `+` stands for a space, as in forms.
    /// - Returns: The text; nil when a `%` is not followed by two hexadecimal digits, or the
    ///   decoded bytes are not UTF-8.
    public static func decode(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String? {
        let encoded = Array(text.utf8)
        return decode(encoded.span, plusIsSpace: plusIsSpace).flatMap {
            String(validating: $0, as: UTF8.self)
        }
    }

    /// Encodes everything but the unreserved characters (letters, digits, `-`, `.`, `_`, `~`).
    ///
    /// - Parameter text: Any text, for example a path segment or a query value.
    /// - Returns: ASCII text.
    public static func encode(_ text: some StringProtocol) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 { append(byte, to: &bytes) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Writes a byte, encoded unless it is unreserved.
    static func append(_ byte: UInt8, to bytes: inout [UInt8]) {
        if OctetSet.unreserved.contains(byte) {
            bytes.append(byte)
        } else {
            bytes += [UInt8(ascii: "%"), digit(byte >> 4), digit(byte & 0xF)]
        }
    }

    /// RFC 3986 §2.1 asks for upper-case digits.
    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? 0x30 + value : 0x37 + value
    }
}
