import Primitives

/// Where a field's name and value lie in the bytes of their head.
struct FieldLine: Sendable, Equatable {
    let name: Range<Int>
    let value: Range<Int>

    /// Reads `field-name ":" OWS field-value OWS` (RFC 9112 §5), a line without its ending.
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

    /// Parts a line at its colon.
    init(_ bytes: Span<UInt8>, _ line: Range<Int>, colon: Int) {
        var start = colon + 1
        var end = line.upperBound
        while start < end, Octet.isBlank(bytes[start]) { start += 1 }
        while end > start, Octet.isBlank(bytes[end - 1]) { end -= 1 }
        name = line.lowerBound..<colon
        value = start..<end
    }
}

/// A head in one copy, whose fields are looked for when they are asked for.
///
/// What matters to nearly every request was noted when its lines arrived and were checked; the
/// places of the others are not worth keeping.
struct FieldSection: Sendable {
    let bytes: [UInt8]
    /// Where the first field line begins.
    private let start: Int

    /// Keeps a head whose lines are well-formed.
    init(_ bytes: [UInt8], from start: Int) {
        self.bytes = bytes
        self.start = start
    }

    /// Lends a part of the bytes.
    func lend<R, E: Error>(
        _ range: Range<Int>,
        _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        try body(bytes.span.extracting(range))
    }

    /// The first line that `fits`; places are those of the bytes that are lent with it.
    func first(where fits: (Span<UInt8>, FieldLine) -> Bool) -> FieldLine? {
        let bytes = bytes.span
        var start = start
        // An empty line is the last one.
        while let end = bytes.firstIndex(of: Octet.lineFeed, from: start), end > start + 1,
            let colon = bytes.firstIndex(of: UInt8(ascii: ":"), from: start)
        {
            let line = FieldLine(bytes, start..<end - 1, colon: colon)
            if fits(bytes, line) { return line }
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

    /// The first value of a field whose name is given in lower case.
    func first(_ name: StaticString) -> Range<Int>? {
        first { $0.extracting($1.name).equalsIgnoringCase(name) }?.value
    }

    /// The first value of a field as text, its name in either case of letters.
    func text(_ name: String) -> String? {
        first { isNamed($0.extracting($1.name), name) }.map { text($0.value) }
    }

    /// All values of a field as text, in order, its name in either case of letters.
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

    /// All fields, names as they were sent.
    var all: [Field] {
        var fields: [Field] = []
        forEach { fields.append(Field($0.text($1.name), $0.text($1.value))) }
        return fields
    }

    func text(_ range: Range<Int>) -> String { bytes.span.text(range) }
}

/// Counts the field lines of a head or trailer section against the limits, as they arrive.
struct FieldLines: Sendable {
    private var count = 0
    private var byteCount = 0

    /// Bytes that the next line may have without crossing a limit.
    func remaining(_ limits: HTTPLimits) -> Int { max(0, limits.fieldBytesMax - byteCount - 2) }

    /// Counts, checks and reads a line.
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
    /// A token; compared in either case.
    public var name: String

    /// The value, without white space around it.
    public var value: String

    /// Pairs a name with a value.
    ///
    /// - Parameters:
    ///   - name: A token of RFC 9110 §5.6.2; anything else traps when it is written.
    ///   - value: Text; control characters in it are written as spaces.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}
