import Primitives

/// Walks through one JSON text, checking every byte of it (RFC 8259), and says where the values are.
///
/// The scanner holds a position, not the text: each call is given the same bytes. Names and values come out as
/// places in the text, so a string can be passed on exactly as it was written.
///
///     var scanner = JSONScanner()
///     try scanner.beginObject(in: text)
///     while let name = try scanner.nextName(in: text) {
///         let value = try scanner.value(in: text)
///     }
///     try scanner.finish(in: text)
public struct JSONScanner: Sendable {
    /// How deep objects and arrays may nest unless told otherwise: each level costs a stack frame.
    public static let depthMaxDefault = 128

    /// The next byte to look at.
    public private(set) var position: Int
    private var depth = 0
    private let depthMax: Int
    /// Whether a container has just begun, so that no comma is due.
    private var isFirst = true

    /// Starts at a byte of the text.
    ///
    /// - Parameters:
    ///   - position: Where to start; a value found earlier is walked through from its first byte.
    ///   - depthMax: How deep objects and arrays may nest.
    public init(at position: Int = 0, depthMax: Int = JSONScanner.depthMaxDefault) {
        self.position = position
        self.depthMax = depthMax
    }

    /// Checks a text that is to be one value, with white space around it, and returns that value.
    public static func scan(
        _ text: Span<UInt8>,
        depthMax: Int = JSONScanner.depthMaxDefault
    ) throws(JSONError) -> JSONValue {
        var scanner = JSONScanner(depthMax: depthMax)
        let value = try scanner.value(in: text)
        try scanner.finish(in: text)
        return value
    }

    /// Enters an object; its members are asked for by ``nextName(in:)``.
    public mutating func beginObject(in text: Span<UInt8>) throws(JSONError) {
        try begin(UInt8(ascii: "{"), in: text)
    }

    /// Enters an array; its elements are asked for by ``nextElement(in:)``.
    public mutating func beginArray(in text: Span<UInt8>) throws(JSONError) {
        try begin(UInt8(ascii: "["), in: text)
    }

    /// Returns the name of the next member and stops before its value, or leaves the object and returns `nil`.
    public mutating func nextName(in text: Span<UInt8>) throws(JSONError) -> JSONValue? {
        guard try !ends(with: UInt8(ascii: "}"), in: text) else { return nil }
        guard try peek(in: text) == UInt8(ascii: "\"") else { throw unexpected(in: text) }
        let name = try string(in: text)
        skipSpace(in: text)
        try expect(UInt8(ascii: ":"), in: text)
        return name
    }

    /// Returns the next element, or leaves the array and returns `nil`.
    public mutating func nextElement(in text: Span<UInt8>) throws(JSONError) -> JSONValue? {
        guard try !ends(with: UInt8(ascii: "]"), in: text) else { return nil }
        return try value(in: text)
    }

    /// Checks the whole value that comes next and returns its place.
    public mutating func value(in text: Span<UInt8>) throws(JSONError) -> JSONValue {
        skipSpace(in: text)
        switch try peek(in: text) {
        case UInt8(ascii: "\""): return try string(in: text)
        case UInt8(ascii: "{"):
            let start = position
            try beginObject(in: text)
            while try nextName(in: text) != nil { _ = try value(in: text) }
            return place(.object, from: start)
        case UInt8(ascii: "["):
            let start = position
            try beginArray(in: text)
            while try nextElement(in: text) != nil {}
            return place(.array, from: start)
        case UInt8(ascii: "t"): return try literal("true", .boolean(true), in: text)
        case UInt8(ascii: "f"): return try literal("false", .boolean(false), in: text)
        case UInt8(ascii: "n"): return try literal("null", .null, in: text)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number(in: text)
        default: throw unexpected(in: text)
        }
    }

    /// Checks that nothing but white space is left.
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

    /// Leaves the container if its closing bracket comes next; otherwise takes the comma that is due.
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

    private func place(_ kind: JSONValue.Kind, from start: Int) -> JSONValue {
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
        return place(kind, from: start)
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
        return place(.number, from: start)
    }

    /// Takes the digits that must stand here, at least one.
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
        /// How many bytes the string loses when its escapes are resolved.
        var surplus = 0
        while true {
            // Nearly every byte of nearly every message is passed over here.
            position = text.firstIndex(from: position) { $0.escaped | $0.notASCII }
            guard position < text.count else { throw .unexpectedEnd }
            switch text[position] {
            case UInt8(ascii: "\""):
                position += 1
                let length = position - start - 2 - surplus
                return JSONValue(
                    kind: .string,
                    range: start..<position,
                    decodedLength: length
                )
            case UInt8(ascii: "\\"): surplus += try escape(in: text)
            case 0x80...: try sequence(in: text)
            default: throw .controlCharacter(at: position)
            }
        }
    }

    /// Takes one escape and returns how much longer it is than what it stands for, in bytes.
    private mutating func escape(in text: Span<UInt8>) throws(JSONError) -> Int {
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
        guard unit & 0xFC00 == 0xD800, position + 1 < text.count,
            text[position] == UInt8(ascii: "\\"), text[position + 1] == UInt8(ascii: "u"),
            try codeUnit(in: text, of: position) & 0xFC00 == 0xDC00
        else { throw .loneSurrogate(at: start) }
        return 12 - 4
    }

    /// Takes `\uXXXX`.
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

    /// Takes one character of two to four bytes, in its shortest form and no surrogate (RFC 3629 §4).
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
