/// Reads the grammar that the handshake's fields share (RFC 9110 §5.6, RFC 6455 §9.1).
struct FieldScanner {
    private let bytes: [UInt8]
    private var position = 0
    private static let quote = UInt8(ascii: "\"")

    init(_ value: String) { bytes = Array(value.utf8) }

    /// Reads `1#element`: elements between commas, of which some may be empty but not all.
    ///
    /// - Parameter element: Reads one element; false when it cannot.
    /// - Returns: Whether the whole value is such a list.
    mutating func list(_ element: (inout FieldScanner) -> Bool) -> Bool {
        var count = 0
        repeat {
            skipSpace()
            if position == bytes.count || bytes[position] == UInt8(ascii: ",") { continue }
            guard element(&self) else { return false }
            count += 1
        } while take(UInt8(ascii: ","))
        return position == bytes.count && count > 0
    }

    /// Reads a token and the space around it.
    mutating func token() -> String? {
        skipSpace()
        let start = position
        while position < bytes.count, Self.isTokenByte(bytes[position]) { position += 1 }
        guard position > start else { return nil }
        defer { skipSpace() }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    /// Reads a token, or a quoted string that is one once its escapes are undone (RFC 6455 §9.1).
    mutating func tokenOrQuotedToken() -> String? {
        skipSpace()
        guard position < bytes.count, bytes[position] == Self.quote else { return token() }
        position += 1
        var content: [UInt8] = []
        while position < bytes.count, bytes[position] != Self.quote {
            if bytes[position] == UInt8(ascii: "\\") { position += 1 }
            guard position < bytes.count, Self.isTokenByte(bytes[position]) else { return nil }
            content.append(bytes[position])
            position += 1
        }
        guard position < bytes.count, !content.isEmpty else { return nil }
        position += 1
        return String(decoding: content, as: UTF8.self)
    }

    /// Takes a separator and the space around it, if it is next.
    mutating func take(_ separator: UInt8) -> Bool {
        skipSpace()
        guard position < bytes.count, bytes[position] == separator else { return false }
        position += 1
        skipSpace()
        return true
    }

    private mutating func skipSpace() {
        while position < bytes.count, bytes[position] == 0x20 || bytes[position] == 0x09 {
            position += 1
        }
    }

    /// Whether a byte may stand in a token (RFC 9110 §5.6.2).
    static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }

    /// The tokens of all lines of a field, or `nil` when a line is not a list of tokens.
    static func tokens(_ lines: [String]) -> [String]? {
        var tokens: [String] = []
        for line in lines {
            var scanner = FieldScanner(line)
            let isList = scanner.list { scanner in
                guard let token = scanner.token() else { return false }
                tokens.append(token)
                return true
            }
            guard isList else { return nil }
        }
        return tokens
    }

    /// Whether the lines hold the token, in whatever case.
    static func tokens(_ lines: [String], contain name: String) -> Bool {
        tokens(lines)?.contains { $0.lowercased() == name } ?? false
    }
}
