import RESP

/// Values of Redis: the first byte chooses the limits, the rest is the received stream.
///
/// The parser agrees with a naive one, however the stream is split.
enum ReplyFuzzing {
    static func run(_ input: [UInt8]) throws(Finding) {
        var choices = Choices(input)
        let limits =
            choices.bool()
            ? RESPLimits()
            : RESPLimits(
                lineLengthMax: 40,
                bulkLengthMax: 30,
                elementCountMax: 12,
                depthMax: 3,
                valueLengthMax: 120
            )
        let stream = choices.remainder()
        let whole = try parse([stream], limits)
        for pieces in Cuts(of: stream) {
            let cut = try parse(pieces, limits)
            try expectEqual(cut, whole, "cut behind \(pieces.map(\.count))")
        }
        var naive = NaiveReplies(stream, limits: limits)
        try expectEqual(whole, naive.outcomes(), "the naive parser's values")
    }

    /// A value in a text that has one form for each, an error, or the number of bytes that are left.
    enum Outcome: Equatable {
        case value(String)
        case refused(RESPError)
        case left(Int)
    }

    private static func parse(
        _ pieces: [[UInt8]],
        _ limits: RESPLimits
    ) throws(Finding) -> [Outcome] {
        var parser = RESPParser(limits: limits)
        var outcomes: [Outcome] = []
        var kept: [UInt8] = []
        for piece in pieces {
            kept += piece
            var index = 0
            var isComplete = true
            while isComplete {
                let start = index
                do throws(RESPError) {
                    isComplete = try parser.next(in: kept.span, from: &index) { view in
                        outcomes.append(.value(text(of: view)))
                    }
                } catch {
                    return outcomes + [.refused(error)]
                }
                try expect(
                    index <= kept.count && (index > start) == isComplete,
                    "\(index - start) bytes consumed"
                )
                try expect(
                    index - start <= limits.valueLengthMax,
                    "a value of \(index - start) bytes"
                )
            }
            kept.removeFirst(index)
        }
        return outcomes + [.left(kept.count)]
    }

    private static func text(of view: borrowing RESPView) -> String {
        guard view.kind.isAggregate else { return "\(view.kind) \(view.copy())" }
        // By position, which has to agree with the order.
        var parts: [String] = []
        for position in 0..<view.count { parts.append(text(of: view[position])) }
        var index = 0
        view.forEach { element in
            if text(of: element) != parts[index] { parts[index] += " is not in its place" }
            index += 1
        }
        return "\(view.kind) [\(parts.joined(separator: ", "))]"
    }
}
