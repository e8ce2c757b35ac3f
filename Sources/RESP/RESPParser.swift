import Primitives

/// Splits received bytes into values of RESP3 (the protocol of Redis since version 6).
///
/// Incremental: each byte is examined once, whatever the sizes of the received pieces. The parser refers to the
/// caller's buffer, in which an incomplete value stays until it is complete. It keeps a flat list of the value's parts
/// and reuses its memory. Attributes are checked and left out. The nulls of RESP2, `$-1` and `*-1`, are accepted as
/// nulls.
public struct RESPParser: ~Copyable {
    private let limits: RESPLimits
    private var nodes: [RESPNode] = []
    /// The aggregates whose elements are not complete, the outermost first.
    private var open: [OpenAggregate] = []
    /// The number of elements that the value's aggregates announce.
    private var elementCount = 0
    /// The number of the value's bytes before the next line or payload.
    private var position = 0
    /// The number of bytes after `position` that contain no end of a line.
    private var scanned = 0
    /// The string whose bytes begin at `position`.
    private var bulk: AnnouncedBulk?
    private var failure: RESPError?

    private struct OpenAggregate {
        /// Its index in `nodes`.
        var node: Int
        var missing: Int
    }

    private struct AnnouncedBulk {
        var kind: RESPKind
        var length: Int
    }

    /// Makes a parser at the beginning of a stream, with the limits of each value.
    public init(limits: RESPLimits = .init()) { self.limits = limits }

    /// Parses the next value.
    ///
    /// - Parameters:
    ///   - bytes: The received bytes.
    ///   - index: The first byte that is not consumed. A later call must pass the same bytes from there on, followed by
    ///     further ones. It is moved past the value when the value is complete.
    ///   - body: Called with a complete value, which is valid during the call. Must not use the parser.
    /// - Returns: Whether a value was complete; if not, more bytes are needed.
    /// - Throws: The first rule or limit that the bytes violate; every later call throws the same error.
    public mutating func next(
        in bytes: Span<UInt8>,
        from index: inout Int,
        _ body: (borrowing RESPView) -> Void
    ) throws(RESPError) -> Bool {
        if let failure { throw failure }
        do throws(RESPError) {
            guard try advance(over: bytes.extracting(index..<bytes.count)) else { return false }
        } catch {
            failure = error
            nodes = []
            open = []
            throw error
        }
        bytes.extracting(index..<(index + position)).withUnsafeBufferPointer { bytes in
            nodes.withUnsafeBufferPointer { body(RESPView(bytes: bytes, nodes: $0, index: 0)) }
        }
        index += position
        reset()
        return true
    }

    /// Begins the next value, with the memory of this one unless it was unusually large.
    private mutating func reset() {
        nodes.removeAll(keepingCapacity: nodes.count <= 4_096)
        elementCount = 0
        position = 0
    }

    /// Continues reading until the value is complete (true) or the bytes are used up.
    private mutating func advance(over bytes: Span<UInt8>) throws(RESPError) -> Bool {
        while true {
            let isAdvanced = try bulk == nil ? readLine(bytes) : readBulk(bytes)
            guard isAdvanced else { return false }
            if open.isEmpty, bulk == nil, !nodes.isEmpty { return true }
        }
    }

    // MARK: Lines

    /// Reads the line that begins a value; false if it is incomplete.
    private mutating func readLine(_ bytes: Span<UInt8>) throws(RESPError) -> Bool {
        guard position < bytes.count else { return false }
        guard let kind = RESPKind(rawValue: bytes[position]) else {
            throw .unknownType(bytes[position])
        }
        let start = position + 1
        let lengthMax = kind.lineLengthMax(limits)
        guard let end = bytes.firstIndex(of: 0x0D, from: start + scanned), end + 1 < bytes.count
        else {
            // A final CR is examined again, because it is not known yet whether LF follows it.
            scanned = bytes.count - start
            if scanned > 0, bytes[bytes.count - 1] == 0x0D { scanned -= 1 }
            guard scanned <= lengthMax else { throw .lineTooLong(kind, limit: lengthMax) }
            return false
        }
        scanned = 0
        guard end - start <= lengthMax else { throw .lineTooLong(kind, limit: lengthMax) }
        let text = bytes.extracting(start..<end)
        guard bytes[end + 1] == 0x0A, text.firstIndex(of: 0x0A) == nil else {
            throw .missingLineEnd(kind)
        }
        try checkLength(end + 2)
        position = end + 2
        try begin(kind, text, at: start)
        return true
    }

    /// Begins a value whose first line is complete.
    private mutating func begin(
        _ kind: RESPKind,
        _ text: Span<UInt8>,
        at start: Int
    ) throws(RESPError) {
        if kind.isBulk { return try announceBulk(kind, text) }
        if kind.isAggregate { return try beginAggregate(kind, text) }
        guard kind.accepts(line: text) else { throw malformed(kind, text) }
        append(kind, start: start, length: text.count)
    }

    private func malformed(_ kind: RESPKind, _ text: Span<UInt8>) -> RESPError {
        .malformed(kind, text.extracting(0..<min(text.count, 32)).string())
    }

    /// Parses a length; nil for the -1 of RESP2's nulls.
    private func announcedLength(
        _ kind: RESPKind,
        _ text: Span<UInt8>
    ) throws(RESPError) -> Int? {
        if text.equals("?") { throw .streamed(kind) }
        if kind == .bulkString || kind == .array, text.equals("-1") { return nil }
        guard let length = RESPNumber.integer(text), text[0] &- 0x30 < 10 else {
            throw malformed(kind, text)
        }
        return Int(length)
    }

    private func checkLength(_ length: Int) throws(RESPError) {
        guard length <= limits.valueLengthMax else {
            throw .valueTooLong(length: length, limit: limits.valueLengthMax)
        }
    }

    // MARK: Strings with a length

    private mutating func announceBulk(
        _ kind: RESPKind,
        _ text: Span<UInt8>
    ) throws(RESPError) {
        guard let length = try announcedLength(kind, text) else { return appendNull() }
        // Before the bytes arrive, because they would have to be buffered.
        guard length <= limits.bulkLengthMax else {
            throw .bulkTooLong(length: length, limit: limits.bulkLengthMax)
        }
        if kind == .verbatimString, length < 4 { throw .missingFormat(length: length) }
        try checkLength(position + length + 2)
        bulk = AnnouncedBulk(kind: kind, length: length)
    }

    /// Reads the bytes of the announced string; false if they are incomplete.
    private mutating func readBulk(_ bytes: Span<UInt8>) throws(RESPError) -> Bool {
        guard let bulk else { return true }
        let end = position + bulk.length
        guard end + 2 <= bytes.count else { return false }
        guard bytes[end] == 0x0D, bytes[end + 1] == 0x0A else { throw .missingLineEnd(bulk.kind) }
        var start = position
        if bulk.kind == .verbatimString {
            guard bytes[start + 3] == UInt8(ascii: ":") else {
                throw .missingFormat(length: bulk.length)
            }
            start += 4
        }
        position = end + 2
        self.bulk = nil
        append(bulk.kind, start: start, length: end - start)
        return true
    }

    // MARK: Aggregates

    private mutating func beginAggregate(
        _ kind: RESPKind,
        _ text: Span<UInt8>
    ) throws(RESPError) {
        guard let count = try announcedLength(kind, text) else { return appendNull() }
        guard kind != .push || open.isEmpty else { throw .nestedPush }
        guard open.count < limits.depthMax else { throw .tooDeep(limit: limits.depthMax) }
        let isPaired = kind == .map || kind == .attribute
        let (elements, overflow) = count.multipliedReportingOverflow(by: isPaired ? 2 : 1)
        let (total, isHuge) = elements.addingReportingOverflow(elementCount)
        guard !overflow, !isHuge, total <= limits.elementCountMax else {
            throw .tooManyElements(
                count: overflow || isHuge ? .max : total,
                limit: limits.elementCountMax
            )
        }
        elementCount = total
        open.append(OpenAggregate(node: nodes.count, missing: elements))
        nodes.append(RESPNode(kind: kind, start: 0, length: UInt32(elements), end: 0))
        closeAggregates()
    }

    private mutating func appendNull() { append(.null, start: position, length: 0) }

    /// Appends a value without elements.
    private mutating func append(_ kind: RESPKind, start: Int, length: Int) {
        nodes.append(
            RESPNode(
                kind: kind,
                start: UInt32(start),
                length: UInt32(length),
                end: UInt32(nodes.count + 1)
            )
        )
        guard !open.isEmpty else { return }
        open[open.count - 1].missing -= 1
        closeAggregates()
    }

    /// Closes the aggregates that have all their elements.
    private mutating func closeAggregates() {
        while let last = open.last, last.missing == 0 {
            open.removeLast()
            if nodes[last.node].kind == .attribute {
                // The value that it describes follows; only that one counts as an element.
                nodes.removeSubrange(last.node...)
                return
            }
            nodes[last.node].end = UInt32(nodes.count)
            if !open.isEmpty { open[open.count - 1].missing -= 1 }
        }
    }
}
