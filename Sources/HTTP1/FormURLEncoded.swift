import Primitives

/// The content of a form, `application/x-www-form-urlencoded` (WHATWG URL §5).
public struct FormURLEncoded: Sendable, Hashable {
    /// Names and values, decoded, in order.
    public var pairs: [Field]

    /// Makes a form to encode from names and values.
    public init(_ pairs: [Field] = []) { self.pairs = pairs }

    /// Parses a form: `name=value&name=value`, with `+` for a space.
    ///
    /// Nil if a `%` is not followed by two hexadecimal digits, if the decoded bytes are not UTF-8, or if there are more
    /// pairs than `pairCountMax`.
    public init?(decoding bytes: Span<UInt8>, pairCountMax: Int = 1000) {
        var pairs: [Field] = []
        var start = 0
        while start < bytes.count {
            let end = bytes.firstIndex(of: UInt8(ascii: "&"), from: start) ?? bytes.count
            defer { start = end + 1 }
            if start == end { continue }
            guard pairs.count < pairCountMax else { return nil }
            let part = bytes.extracting(start..<end)
            let equals = part.firstIndex(of: UInt8(ascii: "="), from: 0) ?? part.count
            guard let name = Self.decode(part.extracting(0..<equals)),
                let value = Self.decode(part.extracting(min(equals + 1, part.count)..<part.count))
            else { return nil }
            pairs.append(Field(name, value))
        }
        self.pairs = pairs
    }

    /// The first value of a decoded, case-sensitive name; nil if there is none.
    public subscript(_ name: String) -> String? {
        pairs.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
    }

    /// Returns all values of a decoded, case-sensitive name, in order.
    public func all(_ name: String) -> [String] {
        pairs.filter { $0.name.utf8.elementsEqual(name.utf8) }.map(\.value)
    }

    /// Encodes the form.
    public func encode() -> [UInt8] {
        var bytes: [UInt8] = []
        for pair in pairs {
            if !bytes.isEmpty { bytes.append(UInt8(ascii: "&")) }
            Self.append(pair.name, to: &bytes)
            bytes.append(UInt8(ascii: "="))
            Self.append(pair.value, to: &bytes)
        }
        return bytes
    }

    private static func decode(_ text: Span<UInt8>) -> String? {
        PercentEncoding.decode(text, plusIsSpace: true).flatMap { String(utf8: $0) }
    }

    private static func append(_ text: String, to bytes: inout [UInt8]) {
        for byte in text.utf8 {
            if byte == Octet.space {
                bytes.append(UInt8(ascii: "+"))
            } else {
                PercentEncoding.append(byte, to: &bytes)
            }
        }
    }
}
