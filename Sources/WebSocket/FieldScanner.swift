import Primitives

/// Parses the common grammar of the handshake's fields (RFC 9110 §5.6, RFC 6455 §9.1).
///
/// It is a position in a value, which the caller passes with every call.
struct FieldScanner {
    private var position = 0
    private static let quote = UInt8(ascii: "\"")

    /// Parses `1#element`: comma-separated elements, some of which may be empty but not all.
    ///
    /// - Parameters:
    ///   - bytes: The field's value.
    ///   - element: Parses one element; returns false if it is malformed.
    /// - Returns: Whether the whole value is such a list.
    mutating func list(in bytes: Span<UInt8>, _ element: (inout FieldScanner) -> Bool) -> Bool {
        var count = 0
        repeat {
            skipSpace(in: bytes)
            if position == bytes.count || bytes[position] == UInt8(ascii: ",") { continue }
            guard element(&self) else { return false }
            count += 1
        } while consume(UInt8(ascii: ","), in: bytes)
        return position == bytes.count && count > 0
    }

    /// Parses a token and the space around it; returns its range.
    mutating func token(in bytes: Span<UInt8>) -> Range<Int>? {
        skipSpace(in: bytes)
        let start = position
        while position < bytes.count, OctetSet.token.contains(bytes[position]) { position += 1 }
        guard position > start else { return nil }
        let end = position
        skipSpace(in: bytes)
        return start..<end
    }

    /// Parses a token and the space around it; returns its text.
    mutating func tokenText(in bytes: Span<UInt8>) -> String? {
        token(in: bytes).map { bytes.extracting($0).string() }
    }

    /// Parses a token, or a quoted string whose unescaped value is a token (RFC 6455 §9.1).
    mutating func tokenOrQuotedToken(in bytes: Span<UInt8>) -> String? {
        skipSpace(in: bytes)
        guard position < bytes.count, bytes[position] == Self.quote else {
            return tokenText(in: bytes)
        }
        position += 1
        var content: [UInt8] = []
        while position < bytes.count, bytes[position] != Self.quote {
            if bytes[position] == UInt8(ascii: "\\") { position += 1 }
            guard position < bytes.count, OctetSet.token.contains(bytes[position]) else {
                return nil
            }
            content.append(bytes[position])
            position += 1
        }
        guard position < bytes.count, !content.isEmpty else { return nil }
        position += 1
        return String(decoding: content, as: UTF8.self)
    }

    /// Consumes a separator and the space around it, if it is next.
    mutating func consume(_ separator: UInt8, in bytes: Span<UInt8>) -> Bool {
        skipSpace(in: bytes)
        guard position < bytes.count, bytes[position] == separator else { return false }
        position += 1
        skipSpace(in: bytes)
        return true
    }

    private mutating func skipSpace(in bytes: Span<UInt8>) {
        while position < bytes.count, bytes[position] == 0x20 || bytes[position] == 0x09 {
            position += 1
        }
    }

    /// Returns the tokens of all lines of a field; `nil` if a line is not a list of tokens.
    static func tokens(_ lines: [String]) -> [String]? {
        var tokens: [String] = []
        for line in lines {
            let line = line.utf8
            guard appendTokens(of: line.span, to: &tokens) else { return nil }
        }
        return tokens
    }

    /// Appends the tokens of one line of a field; false if it is not a list of tokens.
    static func appendTokens(of line: Span<UInt8>, to tokens: inout [String]) -> Bool {
        var scanner = FieldScanner()
        return scanner.list(in: line) { scanner in
            guard let token = scanner.tokenText(in: line) else { return false }
            tokens.append(token)
            return true
        }
    }

    /// Returns whether the lines contain the token, case-insensitive.
    static func tokens(_ lines: [String], contain name: String) -> Bool {
        tokens(lines)?.contains { $0.lowercased() == name } ?? false
    }
}
