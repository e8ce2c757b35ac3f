import Primitives

/// Reads the grammar that the handshake's fields share (RFC 9110 §5.6, RFC 6455 §9.1).
///
/// It is a place in a value that the caller holds, and that comes with every call.
struct FieldScanner {
    private var position = 0
    private static let quote = UInt8(ascii: "\"")

    /// Reads `1#element`: elements between commas, of which some may be empty but not all.
    ///
    /// - Parameters:
    ///   - bytes: The field's value.
    ///   - element: Reads one element; false when it cannot.
    /// - Returns: Whether the whole value is such a list.
    mutating func list(in bytes: Span<UInt8>, _ element: (inout FieldScanner) -> Bool) -> Bool {
        var count = 0
        repeat {
            skipSpace(in: bytes)
            if position == bytes.count || bytes[position] == UInt8(ascii: ",") { continue }
            guard element(&self) else { return false }
            count += 1
        } while take(UInt8(ascii: ","), in: bytes)
        return position == bytes.count && count > 0
    }

    /// Reads a token and the space around it, and returns its place.
    mutating func token(in bytes: Span<UInt8>) -> Range<Int>? {
        skipSpace(in: bytes)
        let start = position
        while position < bytes.count, OctetSet.token.contains(bytes[position]) { position += 1 }
        guard position > start else { return nil }
        let end = position
        skipSpace(in: bytes)
        return start..<end
    }

    /// Reads a token and the space around it.
    mutating func tokenText(in bytes: Span<UInt8>) -> String? {
        token(in: bytes).map { bytes.extracting($0).string() }
    }

    /// Reads a token, or a quoted string that is one once its escapes are undone (RFC 6455 §9.1).
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

    /// Takes a separator and the space around it, if it is next.
    mutating func take(_ separator: UInt8, in bytes: Span<UInt8>) -> Bool {
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

    /// The tokens of all lines of a field, or `nil` when a line is not a list of tokens.
    static func tokens(_ lines: [String]) -> [String]? {
        var tokens: [String] = []
        for line in lines {
            let line = line.utf8
            guard appendTokens(of: line.span, to: &tokens) else { return nil }
        }
        return tokens
    }

    /// Appends the tokens of one line of a field; false when it is not a list of tokens.
    static func appendTokens(of line: Span<UInt8>, to tokens: inout [String]) -> Bool {
        var scanner = FieldScanner()
        return scanner.list(in: line) { scanner in
            guard let token = scanner.tokenText(in: line) else { return false }
            tokens.append(token)
            return true
        }
    }

    /// Whether the lines hold the token, in whatever case.
    static func tokens(_ lines: [String], contain name: String) -> Bool {
        tokens(lines)?.contains { $0.lowercased() == name } ?? false
    }
}
