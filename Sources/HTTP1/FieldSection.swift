import Primitives

/// The ranges of a field's name and value in the bytes of their head.
struct FieldLine: Sendable, Equatable {
    let name: Range<Int>
    let value: Range<Int>

    /// Parses `field-name ":" OWS field-value OWS` (RFC 9112 §5), a line without CRLF.
    init(_ bytes: Span<UInt8>, _ line: Range<Int>) throws(HTTPError) {
        if let first = line.first, Octet.isBlank(bytes[first]) { throw .obsoleteFolding }
        let index = bytes.end(of: .token, in: line)
        guard index > line.lowerBound, index < line.upperBound else { throw .fieldNameMalformed }
        self.init(bytes, line, colon: index)
        guard bytes[index] == UInt8(ascii: ":") else {
            if Octet.isBlank(bytes[index]) { throw .spaceBeforeColon(field: bytes.text(name)) }
            throw .fieldNameMalformed
        }
        guard bytes.extracting(value).isFieldValue else {
            throw .fieldValueMalformed(field: bytes.text(name))
        }
    }

    /// Splits a line at its colon.
    init(_ bytes: Span<UInt8>, _ line: Range<Int>, colon: Int) {
        var start = colon + 1
        var end = line.upperBound
        while start < end, Octet.isBlank(bytes[start]) { start += 1 }
        while end > start, Octet.isBlank(bytes[end - 1]) { end -= 1 }
        name = line.lowerBound..<colon
        value = start..<end
    }
}

/// A copy of a head, in which fields are searched on request.
///
/// The fields that most requests need are recorded when the lines are checked; the ranges of the others are not stored.
struct FieldSection: Sendable {
    let bytes: [UInt8]
    /// The offset of the first field line.
    private let start: Int

    /// Makes a section of a head whose lines are well-formed.
    init(_ bytes: [UInt8], from start: Int) {
        self.bytes = bytes
        self.start = start
    }

    /// Calls `body` with a part of the bytes.
    func withBytes<R, E: Error>(
        _ range: Range<Int>,
        _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        try body(bytes.span.extracting(range))
    }

    /// Returns the first line that `matches`; its ranges refer to the bytes passed with it.
    func first(where matches: (Span<UInt8>, FieldLine) -> Bool) -> FieldLine? {
        let bytes = bytes.span
        var start = start
        // The last line is empty.
        while let end = bytes.firstIndex(of: Octet.lineFeed, from: start), end > start + 1,
            let colon = bytes.firstIndex(of: UInt8(ascii: ":"), from: start)
        {
            let line = FieldLine(bytes, start..<end - 1, colon: colon)
            if matches(bytes, line) { return line }
            start = end + 1
        }
        return nil
    }

    /// Calls `body` with each line, in order.
    func forEach(_ body: (Span<UInt8>, FieldLine) -> Void) {
        _ = first { bytes, line in
            body(bytes, line)
            return false
        }
    }

    /// Returns the range of the first value of a field; the name is in lower case.
    func first(_ name: StaticString) -> Range<Int>? {
        first { $0.extracting($1.name).equalsIgnoringCase(name) }?.value
    }

    /// Returns the first value of a field as text; the name is case-insensitive.
    func text(_ name: String) -> String? {
        first { isNamed($0.extracting($1.name), name) }.map { text($0.value) }
    }

    /// Returns all values of a field as text, in order; the name is case-insensitive.
    func texts(_ name: String) -> [String] {
        var texts: [String] = []
        forEach { if isNamed($0.extracting($1.name), name) { texts.append($0.text($1.value)) } }
        return texts
    }

    private func isNamed(_ given: Span<UInt8>, _ name: String) -> Bool {
        guard given.count == name.utf8.count else { return false }
        var index = 0
        for byte in name.utf8 {
            guard byte.lowercased == given[index].lowercased else { return false }
            index += 1
        }
        return true
    }

    /// All fields, with the names as they were sent.
    var all: [Field] {
        var fields: [Field] = []
        forEach { fields.append(Field($0.text($1.name), $0.text($1.value))) }
        return fields
    }

    func text(_ range: Range<Int>) -> String { bytes.span.text(range) }
}

/// Checks the field lines of a head or trailer section against the limits, as they arrive.
struct FieldLines: Sendable {
    private var count = 0
    private var byteCount = 0

    /// Returns the maximum number of bytes that the next line may have within the limits.
    func remaining(_ limits: HTTPLimits) -> Int { max(0, limits.fieldBytesMax - byteCount - 2) }

    /// Counts, checks and parses a line.
    mutating func read(
        _ bytes: Span<UInt8>,
        _ line: Range<Int>,
        limits: HTTPLimits
    ) throws(HTTPError) -> FieldLine {
        guard count < limits.fieldCountMax else {
            throw .fieldsTooMany(limit: limits.fieldCountMax)
        }
        count += 1
        byteCount += line.count + 2
        return try FieldLine(bytes, line)
    }
}

/// A field line: a name and a value (RFC 9110 §5).
public struct Field: Hashable, Sendable {
    /// The name: a token, case-insensitive.
    public var name: String

    /// The value, without white space around it.
    public var value: String

    /// Makes a field.
    ///
    /// - Parameters:
    ///   - name: A token (RFC 9110 §5.6.2); anything else traps when it is written.
    ///   - value: Text; control characters in it are written as spaces.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}
