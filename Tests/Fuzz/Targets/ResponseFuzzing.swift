import HTTP1

/// Responses: the first byte chooses the limits, the second the methods of the requests.
///
/// The rest is the received stream up to its end.
enum ResponseFuzzing {
    static func run(_ input: [UInt8]) throws(Finding) {
        var choices = Choices(input)
        let limits = HTTPLimits(fuzzing: choices.byte())
        let asked = choices.byte()
        let methods: [Method] = (0..<4).map {
            [.get, .head, .connect, .post][Int(asked >> ($0 * 2) & 3)]
        }
        let stream = choices.remainder()
        let whole = try parse([stream], methods, limits)
        for pieces in Cuts(of: stream) {
            let cut = try parse(pieces, methods, limits)
            try expectEqual(cut, whole, "cut behind \(pieces.map(\.count))")
        }
    }

    /// The result of parsing.
    private enum Outcome: Equatable {
        case interim(Int)
        case head(Int, fields: [Field], keepAlive: Bool)
        case content([UInt8])
        case refused(HTTPError)
    }

    private static func parse(
        _ pieces: [[UInt8]],
        _ methods: [Method],
        _ limits: HTTPLimits
    ) throws(Finding) -> [Outcome] {
        var parser = ResponseParser(limits: limits)
        for method in methods { parser.expect(method) }
        var outcomes: [Outcome] = []
        var kept: [UInt8] = []
        for piece in pieces {
            kept += piece
            var index = 0
            while true {
                let progress: ResponseParser.Progress
                do throws(HTTPError) {
                    progress = try parser.advance(over: kept.span, from: &index)
                } catch {
                    return outcomes + [.refused(error)]
                }
                try expect(index <= kept.count, "\(index) of \(kept.count) bytes are read")
                if case .needsMore = progress { break }
                outcomes.append(try outcome(progress, kept, limits))
            }
            kept.removeFirst(index)
        }
        do throws(HTTPError) {
            if let content = try parser.finish() {
                outcomes.append(.content(content.copy(from: kept.span)))
            }
        } catch {
            outcomes.append(.refused(error))
        }
        return outcomes
    }

    private static func outcome(
        _ progress: ResponseParser.Progress,
        _ kept: [UInt8],
        _ limits: HTTPLimits
    ) throws(Finding) -> Outcome {
        switch progress {
        case .interim(let head):
            try expect(head.status.isInformational, "\(head.status) is interim")
            return .interim(head.status.code)
        case .head(let head):
            try expect(100..<600 ~= head.status.code, "\(head.status)")
            try expect(head.fields.count <= limits.fieldCountMax, "\(head.fields.count) fields")
            try expect(!(head.isChunked && head.contentLength != nil), "a length and chunks")
            return .head(head.status.code, fields: head.fields, keepAlive: head.keepAlive)
        case .content(let content):
            let bytes = content.copy(from: kept.span)
            try expect(bytes.count <= limits.bodyLengthMax, "\(bytes.count) bytes of content")
            return .content(bytes)
        case .needsMore: throw Finding(description: "a complete answer was not detected")
        }
    }
}
