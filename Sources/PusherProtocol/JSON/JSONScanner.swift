import Primitives

/// Validates one JSON text (RFC 8259) and returns the ranges of its values.
///
/// The scanner holds a position, not the text, so pass the same bytes to each call. Names and values are returned as
/// ranges of the text, so a string can be forwarded exactly as it was written; also one with half a surrogate pair
/// (§8.2), which UTF-8 cannot represent. Nested containers are scanned recursively, at most `depthMax` levels deep.
///
///     var scanner = JSONScanner()
///     try scanner.beginObject(in: text)
///     while let name = try scanner.nextName(in: text) {
///         let value = try scanner.value(in: text)
///     }
///     try scanner.finish(in: text)
public struct JSONScanner: Sendable {
    /// The default nesting limit of objects and arrays: each level is a recursive call.
    public static let depthMaxDefault = 128

    /// The offset of the next byte.
    public private(set) var position: Int
    private var depth = 0
    private let depthMax: Int
    /// Whether no comma is expected, because a container has just begun.
    private var isFirst = true

    /// Creates a scanner.
    ///
    /// - Parameters:
    ///   - position: The byte offset to start at, such as the first byte of a value that an earlier scan returned.
    ///   - depthMax: The nesting limit of objects and arrays.
    public init(at position: Int = 0, depthMax: Int = JSONScanner.depthMaxDefault) {
        self.position = position
        self.depthMax = depthMax
    }

    /// Validates a text of one value, with optional white space around it, and returns the value.
    public static func scan(
        _ text: Span<UInt8>,
        depthMax: Int = JSONScanner.depthMaxDefault
    ) throws(JSONError) -> JSONValue {
        var scanner = JSONScanner(depthMax: depthMax)
        let value = try scanner.value(in: text)
        try scanner.finish(in: text)
        return value
    }

    /// Enters an object; ``nextName(in:)`` returns its members.
    public mutating func beginObject(in text: Span<UInt8>) throws(JSONError) {
        try begin(UInt8(ascii: "{"), in: text)
    }

    /// Enters an array; ``nextElement(in:)`` returns its elements.
    public mutating func beginArray(in text: Span<UInt8>) throws(JSONError) {
        try begin(UInt8(ascii: "["), in: text)
    }

    /// Returns the name of the next member and stops before its value; at the end of the object, leaves it and returns
    /// `nil`.
    public mutating func nextName(in text: Span<UInt8>) throws(JSONError) -> JSONValue? {
        guard try !ends(with: UInt8(ascii: "}"), in: text) else { return nil }
        guard try peek(in: text) == UInt8(ascii: "\"") else { throw unexpected(in: text) }
        let name = try string(in: text)
        skipSpace(in: text)
        try expect(UInt8(ascii: ":"), in: text)
        return name
    }

    /// Returns the next element; at the end of the array, leaves it and returns `nil`.
    public mutating func nextElement(in text: Span<UInt8>) throws(JSONError) -> JSONValue? {
        guard try !ends(with: UInt8(ascii: "]"), in: text) else { return nil }
        return try value(in: text)
    }

    /// Validates the next value and returns its range.
    public mutating func value(in text: Span<UInt8>) throws(JSONError) -> JSONValue {
        skipSpace(in: text)
        switch try peek(in: text) {
        case UInt8(ascii: "\""): return try string(in: text)
        case UInt8(ascii: "{"):
            let start = position
            try beginObject(in: text)
            while try nextName(in: text) != nil { _ = try value(in: text) }
            return scanned(.object, from: start)
        case UInt8(ascii: "["):
            let start = position
            try beginArray(in: text)
            while try nextElement(in: text) != nil {}
            return scanned(.array, from: start)
        case UInt8(ascii: "t"): return try literal("true", .boolean(true), in: text)
        case UInt8(ascii: "f"): return try literal("false", .boolean(false), in: text)
        case UInt8(ascii: "n"): return try literal("null", .null, in: text)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number(in: text)
        default: throw unexpected(in: text)
        }
    }

    /// Checks that only white space is left.
    public mutating func finish(in text: Span<UInt8>) throws(JSONError) {
        skipSpace(in: text)
        guard position == text.count else { throw unexpected(in: text) }
    }

    // MARK: Punctuation

    private mutating func begin(_ bracket: UInt8, in text: Span<UInt8>) throws(JSONError) {
        skipSpace(in: text)
        guard depth < depthMax else { throw .tooDeep(depthMax: depthMax, at: position) }
        try expect(bracket, in: text)
        depth += 1
        isFirst = true
    }

    /// Leaves the container at its closing bracket; otherwise consumes the comma before the next element, if one is
    /// expected.
    private mutating func ends(
        with bracket: UInt8,
        in text: Span<UInt8>
    ) throws(JSONError) -> Bool {
        skipSpace(in: text)
        if try peek(in: text) == bracket {
            position += 1
            depth -= 1
            isFirst = false
            return true
        }
        if !isFirst {
            try expect(UInt8(ascii: ","), in: text)
            skipSpace(in: text)
        }
        isFirst = false
        return false
    }

    private func peek(in text: Span<UInt8>) throws(JSONError) -> UInt8 {
        guard position < text.count else { throw .unexpectedEnd }
        return text[position]
    }

    private mutating func expect(_ byte: UInt8, in text: Span<UInt8>) throws(JSONError) {
        guard try peek(in: text) == byte else { throw unexpected(in: text) }
        position += 1
    }

    private func unexpected(in text: Span<UInt8>) -> JSONError {
        position < text.count ? .unexpectedByte(text[position], at: position) : .unexpectedEnd
    }

    private mutating func skipSpace(in text: Span<UInt8>) {
        while position < text.count {
            switch text[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }

    private func scanned(_ kind: JSONValue.Kind, from start: Int) -> JSONValue {
        JSONValue(kind: kind, range: start..<position, decodedLength: position - start)
    }

    // MARK: Literals and numbers

    private mutating func literal(
        _ spelling: StaticString,
        _ kind: JSONValue.Kind,
        in text: Span<UInt8>
    ) throws(JSONError) -> JSONValue {
        let start = position
        for offset in 0..<spelling.utf8CodeUnitCount {
            try expect(spelling.withUTF8Buffer { $0[offset] }, in: text)
        }
        return scanned(kind, from: start)
    }

    private mutating func number(in text: Span<UInt8>) throws(JSONError) -> JSONValue {
        let start = position
        if text[position] == UInt8(ascii: "-") { position += 1 }
        let integer = try digits(in: text, of: start)
        guard integer.count == 1 || text[integer.lowerBound] != UInt8(ascii: "0") else {
            throw .malformedNumber(at: start)
        }
        if position < text.count, text[position] == UInt8(ascii: ".") {
            position += 1
            _ = try digits(in: text, of: start)
        }
        if position < text.count, text[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            if position < text.count,
                [UInt8(ascii: "+"), UInt8(ascii: "-")].contains(text[position])
            {
                position += 1
            }
            _ = try digits(in: text, of: start)
        }
        return scanned(.number, from: start)
    }

    /// Consumes one or more digits.
    private mutating func digits(
        in text: Span<UInt8>,
        of start: Int
    ) throws(JSONError) -> Range<Int> {
        let first = position
        while position < text.count, text[position].isDigit { position += 1 }
        guard position > first else {
            throw position < text.count ? .malformedNumber(at: start) : .unexpectedEnd
        }
        return first..<position
    }

    // MARK: Strings

    private mutating func string(in text: Span<UInt8>) throws(JSONError) -> JSONValue {
        let start = position
        position += 1
        /// The number of bytes by which decoding the escapes shortens the string.
        var surplus = 0
        var hasLoneSurrogate = false
        while true {
            // The fast path: most bytes of most messages are skipped here.
            position = text.firstIndex(from: position) { $0.escaped | $0.notASCII }
            guard position < text.count else { throw .unexpectedEnd }
            switch text[position] {
            case UInt8(ascii: "\""):
                position += 1
                let length = position - start - 2 - surplus
                return JSONValue(
                    kind: .string,
                    hasLoneSurrogate: hasLoneSurrogate,
                    range: start..<position,
                    decodedLength: length
                )
            case UInt8(ascii: "\\"): surplus += try escape(in: text, &hasLoneSurrogate)
            case 0x80...: try sequence(in: text)
            default: throw .controlCharacter(at: position)
            }
        }
    }

    /// Consumes one escape and returns how many bytes longer it is than the character it encodes.
    private mutating func escape(
        in text: Span<UInt8>,
        _ hasLoneSurrogate: inout Bool
    ) throws(JSONError) -> Int {
        let start = position
        guard position + 1 < text.count else { throw .unexpectedEnd }
        switch text[position + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
            UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 2
            return 1
        case UInt8(ascii: "u"): break
        default: throw .malformedEscape(at: start)
        }
        let unit = try codeUnit(in: text, of: start)
        guard unit & 0xF800 == 0xD800 else { return 6 - JSONEscapes.length(of: UInt32(unit)) }
        let next = position
        if unit & 0xFC00 == 0xD800, next + 1 < text.count, text[next] == UInt8(ascii: "\\"),
            text[next + 1] == UInt8(ascii: "u")
        {
            guard try codeUnit(in: text, of: next) & 0xFC00 != 0xDC00 else { return 12 - 4 }
            position = next
        }
        hasLoneSurrogate = true
        return 6 - JSONEscapes.length(of: JSONEscapes.replacement)
    }

    /// Consumes `\uXXXX`.
    private mutating func codeUnit(
        in text: Span<UInt8>,
        of start: Int
    ) throws(JSONError) -> UInt16 {
        var unit: UInt16 = 0
        for index in position + 2..<position + 6 {
            guard index < text.count else { throw .unexpectedEnd }
            guard let digit = text[index].hexValue else { throw .malformedEscape(at: start) }
            unit = unit << 4 | UInt16(digit)
        }
        position += 6
        return unit
    }

    /// Consumes one character of two to four bytes, in its shortest form and not a surrogate (RFC 3629 §4).
    private mutating func sequence(in text: Span<UInt8>) throws(JSONError) {
        guard let lead = UTF8Lead(text[position]) else { throw .malformedUTF8(at: position) }
        let length = Int(lead.followerCount) + 1
        for offset in 1..<length {
            guard position + offset < text.count else { throw .unexpectedEnd }
            let byte = text[position + offset]
            let isAllowed =
                offset == 1 ? byte >= lead.lowest && byte <= lead.highest : byte & 0xC0 == 0x80
            guard isAllowed else { throw .malformedUTF8(at: position) }
        }
        position += length
    }
}
