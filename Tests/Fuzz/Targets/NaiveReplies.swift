import RESP

/// A recursive parser of RESP3 for a whole stream.
struct NaiveReplies {
    private let stream: [UInt8]
    private let limits: RESPLimits
    private var position = 0
    /// The beginning of the current value.
    private var start = 0
    private var elementCount = 0

    init(_ stream: [UInt8], limits: RESPLimits) {
        self.stream = stream
        self.limits = limits
    }

    /// Why a value is not read.
    private enum Stop: Error {
        case incomplete
        case refused(RESPError)
    }

    mutating func outcomes() -> [ReplyFuzzing.Outcome] {
        var outcomes: [ReplyFuzzing.Outcome] = []
        while true {
            start = position
            elementCount = 0
            do throws(Stop) {
                outcomes.append(.value(try value(depth: 0)))
            } catch {
                switch error {
                case .incomplete: return outcomes + [.left(stream.count - start)]
                case .refused(let error): return outcomes + [.refused(error)]
                }
            }
        }
    }

    private mutating func value(depth: Int) throws(Stop) -> String {
        guard position < stream.count else { throw .incomplete }
        guard let kind = RESPKind(rawValue: stream[position]) else {
            throw .refused(.unknownType(stream[position]))
        }
        position += 1
        let line = try line(of: kind)
        let text = String(decoding: line, as: UTF8.self)
        let malformed = Stop.refused(
            .malformed(kind, String(decoding: line.prefix(32), as: UTF8.self))
        )
        switch kind {
        case .simpleString, .simpleError: break
        case .integer: guard Int64(text) != nil else { throw malformed }
        case .null: guard line.isEmpty else { throw malformed }
        case .boolean: guard text == "t" || text == "f" else { throw malformed }
        case .double: guard isDouble(text) else { throw malformed }
        case .bigNumber: guard isWhole(text.drop(sign: true)) else { throw malformed }
        case .bulkString, .bulkError, .verbatimString, .array, .map, .set, .attribute, .push:
            if text == "?" { throw .refused(.streamed(kind)) }
            if text == "-1", kind == .bulkString || kind == .array { return "null []" }
            guard isWhole(text[...]), let length = Int(text) else { throw malformed }
            if !kind.isAggregate { return try bulk(kind, length) }
            return try aggregate(kind, length, depth)
        }
        return "\(kind) \(line)"
    }

    private mutating func line(of kind: RESPKind) throws(Stop) -> [UInt8] {
        let isText = [.simpleString, .simpleError, .bigNumber].contains(kind)
        let lengthMax = isText ? limits.lineLengthMax : 32
        var line: [UInt8] = []
        while position < stream.count, stream[position] != 0x0D {
            line.append(stream[position])
            position += 1
        }
        if line.count > lengthMax { throw .refused(.lineTooLong(kind, limit: lengthMax)) }
        guard position + 1 < stream.count else { throw .incomplete }
        if stream[position + 1] != 0x0A || line.contains(0x0A) {
            throw .refused(.missingLineEnd(kind))
        }
        position += 2
        try checkLength(position)
        return line
    }

    private func checkLength(_ end: Int) throws(Stop) {
        guard end - start > limits.valueLengthMax else { return }
        throw .refused(.valueTooLong(length: end - start, limit: limits.valueLengthMax))
    }

    private mutating func bulk(_ kind: RESPKind, _ length: Int) throws(Stop) -> String {
        guard length <= limits.bulkLengthMax else {
            throw .refused(.bulkTooLong(length: length, limit: limits.bulkLengthMax))
        }
        let missing = Stop.refused(.missingFormat(length: length))
        if kind == .verbatimString, length < 4 { throw missing }
        let end = position + length
        try checkLength(end + 2)
        guard end + 2 <= stream.count else { throw .incomplete }
        guard Array(stream[end..<(end + 2)]) == [0x0D, 0x0A] else {
            throw .refused(.missingLineEnd(kind))
        }
        var bytes = Array(stream[position..<end])
        position = end + 2
        if kind == .verbatimString {
            if bytes[3] != UInt8(ascii: ":") { throw missing }
            bytes.removeFirst(4)
        }
        return "\(kind) \(bytes)"
    }

    private mutating func aggregate(
        _ kind: RESPKind,
        _ count: Int,
        _ depth: Int
    ) throws(Stop) -> String {
        if kind == .push, depth > 0 { throw .refused(.nestedPush) }
        if depth == limits.depthMax { throw .refused(.tooDeep(limit: limits.depthMax)) }
        let factor = kind == .map || kind == .attribute ? 2.0 : 1.0
        let total = Double(count) * factor + Double(elementCount)
        guard total <= Double(limits.elementCountMax) else {
            let count = total > 9e18 ? Int.max : count * Int(factor) + elementCount
            throw .refused(.tooManyElements(count: count, limit: limits.elementCountMax))
        }
        elementCount = Int(total)
        var parts: [String] = []
        for _ in 0..<(count * Int(factor)) { parts.append(try value(depth: depth + 1)) }
        if kind == .attribute { return try value(depth: depth) }
        return "\(kind) [\(parts.joined(separator: ", "))]"
    }

    private func isWhole(_ text: Substring) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { 0x30...0x39 ~= $0 }
    }

    private func isDouble(_ text: String) -> Bool {
        if ["inf", "-inf", "nan", "-nan"].contains(text) { return true }
        let parts = text.split(omittingEmptySubsequences: false) { $0 == "e" || $0 == "E" }
        guard parts.count <= 2, let first = parts.first else { return false }
        if parts.count == 2, !isWhole(parts[1].drop(sign: true)) { return false }
        let halves = first.drop(sign: true).split(separator: ".", omittingEmptySubsequences: false)
        return halves.count <= 2 && halves.allSatisfy(isWhole)
    }
}

extension StringProtocol where SubSequence == Substring {
    /// The text without a leading sign.
    fileprivate func drop(sign: Bool) -> Substring {
        sign && (hasPrefix("-") || hasPrefix("+")) ? dropFirst() : self[...]
    }
}
