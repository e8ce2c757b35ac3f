/// Where a field's name and value lie in the bytes of their head.
struct FieldLine: Sendable, Equatable {
    private let nameStart, nameEnd, valueStart, valueEnd: UInt32

    init(name: Range<Int>, value: Range<Int>) {
        nameStart = UInt32(truncatingIfNeeded: name.lowerBound)
        nameEnd = UInt32(truncatingIfNeeded: name.upperBound)
        valueStart = UInt32(truncatingIfNeeded: value.lowerBound)
        valueEnd = UInt32(truncatingIfNeeded: value.upperBound)
    }

    var name: Range<Int> { Int(nameStart)..<Int(nameEnd) }
    var value: Range<Int> { Int(valueStart)..<Int(valueEnd) }

    /// Reads `field-name ":" OWS field-value OWS` (RFC 9112 §5).
    ///
    /// The line comes without its ending; places are counted from `base`.
    init(_ bytes: Span<UInt8>, _ line: Range<Int>, base: Int) throws(HTTPError) {
        var index = line.lowerBound
        if index < line.upperBound, Octet.isBlank(bytes[index]) { throw .obsoleteFolding }
        while index < line.upperBound, OctetSet.token.contains(bytes[index]) { index += 1 }
        let name = line.lowerBound..<index
        guard index < line.upperBound, !name.isEmpty else { throw .fieldNameMalformed }
        guard bytes[index] == UInt8(ascii: ":") else {
            if Octet.isBlank(bytes[index]) { throw .spaceBeforeColon(field: bytes.text(name)) }
            throw .fieldNameMalformed
        }
        index += 1
        while index < line.upperBound, Octet.isBlank(bytes[index]) { index += 1 }
        var end = line.upperBound
        while end > index, Octet.isBlank(bytes[end - 1]) { end -= 1 }
        guard bytes.extracting(index..<end).holdsOnly(allBut: Octet.notFieldValue) else {
            throw .fieldValueMalformed(field: bytes.text(name))
        }
        self.init(
            name: name.lowerBound - base..<name.upperBound - base,
            value: index - base..<end - base
        )
    }
}

/// A head in one copy, and the places of its fields: no strings are made until they are asked for.
struct FieldSection: Sendable, Equatable {
    let bytes: [UInt8]
    let lines: [FieldLine]

    /// The first value of a field whose name is given in lower case.
    func first(_ name: Span<UInt8>) -> Range<Int>? {
        let bytes = bytes.span
        for line in lines where line.name.count == name.count {
            if bytes.extracting(line.name).equalsIgnoringCase(name) { return line.value }
        }
        return nil
    }

    /// The first value of a field as text, its name in either case of letters.
    func text(_ name: String) -> String? {
        lines.first { isNamed($0, name) }.map { text($0.value) }
    }

    /// All values of a field as text, in order, its name in either case of letters.
    func texts(_ name: String) -> [String] {
        var texts: [String] = []
        for line in lines where isNamed(line, name) { texts.append(text(line.value)) }
        return texts
    }

    private func isNamed(_ line: FieldLine, _ name: String) -> Bool {
        let given = bytes.span.extracting(line.name)
        let name = name.utf8.span
        guard given.count == name.count else { return false }
        for index in name.indices
        where Octet.lowercased(name[index]) != Octet.lowercased(given[index]) { return false }
        return true
    }

    /// All fields, names as they were sent.
    var all: [Field] { lines.map { Field(text($0.name), text($0.value)) } }

    func text(_ range: Range<Int>) -> String { bytes.span.text(range) }
}

/// The field lines of a head or trailer section as they arrive, counted against the limits.
struct FieldLines: Sendable {
    private(set) var lines: [FieldLine] = []
    private var count = 0
    private var byteCount = 0

    /// Bytes that the next line may have without crossing a limit.
    func remaining(_ limits: HTTPLimits) -> Int { max(0, limits.fieldBytesMax - byteCount - 2) }

    /// Counts and checks a line, and keeps its places if `keeps`.
    mutating func append(
        _ bytes: Span<UInt8>,
        _ line: Range<Int>,
        base: Int,
        limits: HTTPLimits,
        keeps: Bool = true
    ) throws(HTTPError) {
        guard count < limits.fieldCountMax else {
            throw .fieldsTooMany(limit: limits.fieldCountMax)
        }
        count += 1
        byteCount += line.count + 2
        let field = try FieldLine(bytes, line, base: base)
        guard keeps else { return }
        // A request has about eight: one allocation instead of four.
        if lines.isEmpty { lines.reserveCapacity(12) }
        lines.append(field)
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
