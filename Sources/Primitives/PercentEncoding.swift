/// Percent-encoding (RFC 3986 §2.1).
public enum PercentEncoding {
    /// Decodes `%XX`.
    ///
    /// - Parameters:
    ///   - text: The encoded bytes.
    ///   - plusIsSpace: Whether `+` means a space, as in forms.
    /// - Returns: The bytes; `nil` if a `%` is not followed by two hexadecimal digits.
    public static func decode(_ text: Span<UInt8>, plusIsSpace: Bool = false) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var index = 0
        while index < text.count {
            let byte = text[index]
            if byte == UInt8(ascii: "%") {
                guard let decoded = escaped(in: text, at: index + 1) else { return nil }
                bytes.append(decoded)
                index += 3
            } else {
                bytes.append(plusIsSpace && byte == UInt8(ascii: "+") ? 0x20 : byte)
                index += 1
            }
        }
        return bytes
    }

    /// Decodes `%XX` to text.
    ///
    /// - Parameters:
    ///   - text: The encoded text.
    ///   - plusIsSpace: Whether `+` means a space, as in forms.
    /// - Returns: The text; `nil` if a `%` is not followed by two hexadecimal digits, or the decoded bytes are not
    ///   UTF-8.
    public static func decode(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String? {
        let encoded = Array(text.utf8)
        return decode(encoded.span, plusIsSpace: plusIsSpace).flatMap { String(utf8: $0) }
    }

    /// Decodes `%XX`; a `%` that is not followed by two hexadecimal digits is kept.
    public static func decodeLeniently(_ text: Span<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        appendDecodedLeniently(text, to: &bytes)
        return bytes
    }

    /// Appends the result of ``decodeLeniently(_:)``.
    public static func appendDecodedLeniently(_ text: Span<UInt8>, to bytes: inout [UInt8]) {
        var start = 0
        var index = 0
        while let percent = text.firstIndex(of: UInt8(ascii: "%"), from: index) {
            index = percent + 1
            guard let byte = escaped(in: text, at: index) else { continue }
            bytes.append(text.extracting(start..<percent))
            bytes.append(byte)
            index += 2
            start = index
        }
        bytes.append(text.extracting(start..<text.count))
    }

    /// Encodes all characters of a text except the unreserved ones (letters, digits, `-`, `.`, `_`, `~`) to ASCII.
    public static func encode(_ text: some StringProtocol) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 { append(byte, to: &bytes) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends a byte, percent-encoded unless it is unreserved.
    public static func append(_ byte: UInt8, to bytes: inout [UInt8]) {
        if OctetSet.unreserved.contains(byte) {
            bytes.append(byte)
        } else {
            bytes += [UInt8(ascii: "%"), digit(byte >> 4), digit(byte & 0xF)]
        }
    }

    /// Returns the value of the two hexadecimal digits at `index`; `nil` if there are none.
    private static func escaped(in text: Span<UInt8>, at index: Int) -> UInt8? {
        guard index + 1 < text.count, let high = text[index].hexValue,
            let low = text[index + 1].hexValue
        else { return nil }
        return high << 4 | low
    }

    /// Returns an upper-case digit, as recommended by RFC 3986 §2.1.
    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? 0x30 + value : 0x37 + value
    }
}
