import HTTP1
import Primitives

/// Requests: the first byte chooses the limits, the rest is the received stream.
enum RequestFuzzing {
    static func run(_ input: [UInt8]) throws(Finding) {
        var choices = Choices(input)
        let limits = HTTPLimits(fuzzing: choices.byte())
        let stream = choices.remainder()
        let whole = try parse([stream], limits)
        for pieces in Cuts(of: stream) {
            let cut = try parse(pieces, limits)
            try expectEqual(cut, whole, "cut behind \(pieces.map(\.count))")
        }
    }

    /// The result of parsing.
    private enum Outcome: Equatable {
        case head(String, fields: [Field])
        case content([UInt8])
        case refused(HTTPError)
    }

    private static func parse(
        _ pieces: [[UInt8]],
        _ limits: HTTPLimits
    ) throws(Finding) -> [Outcome] {
        var parser = RequestParser(limits: limits)
        var outcomes: [Outcome] = []
        var kept: [UInt8] = []
        for piece in pieces {
            kept += piece
            var index = 0
            while true {
                let before = index
                let progress: RequestParser.Progress
                do throws(HTTPError) {
                    progress = try parser.advance(over: kept.span, from: &index)
                } catch {
                    try expect(400..<600 ~= error.status.code, "\(error)")
                    return outcomes + [.refused(error)]
                }
                try expect(before <= index && index <= kept.count, "\(before) to \(index)")
                if case .needsMore = progress { break }
                if case .head(let head) = progress {
                    try validate(head, limits)
                    outcomes.append(
                        .head(
                            "\(head.method) \(head.target) \(head.keepAlive)",
                            fields: head.fields
                        )
                    )
                }
                if case .content(let content) = progress {
                    let bytes = content.copy(from: kept.span)
                    try expect(bytes.count <= limits.bodyLengthMax, "\(bytes.count) bytes")
                    outcomes.append(.content(bytes))
                }
            }
            kept.removeFirst(index)
            let room = limits.requestLineLengthMax + limits.fieldBytesMax + 8_192
            try expect(kept.count <= room + limits.bodyLengthMax, "\(kept.count) bytes are kept")
        }
        return outcomes
    }

    /// Checks the rules for every accepted head, and the values derived from it.
    private static func validate(_ head: RequestHead, _ limits: HTTPLimits) throws(Finding) {
        try expect(head.fieldCount <= limits.fieldCountMax, "\(head.fieldCount) fields")
        try expectEqual(head.fieldCount, head.fields.count, "the number of fields")
        try expect(head.target.utf8.count <= limits.requestLineLengthMax, "a long target")
        try expect(head.target.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }, "\(head.target)")
        for field in head.fields { try validate(field) }
        // Two parsers must not disagree about the length or the host.
        try expect(head.fields("content-length").count <= 1, "two lengths")
        try expect(!(head.isChunked && head.contentLength != nil), "a length and chunks")
        try expect((head.contentLength ?? 0) <= limits.bodyLengthMax, "a long content")
        try expect(head.fields("host").count == 1 || head.minorVersion == 0, "not one Host")

        try again(head)
        if let query = head.query { try validate(query: query) }
        let path = head.path
        if let decoded = PercentEncoding.decode(path) {
            let encoded = PercentEncoding.encode(decoded)
            try expectEqual(PercentEncoding.decode(encoded), decoded, "the path \(path)")
        }
    }

    private static func validate(_ field: Field) throws(Finding) {
        try expect(!field.name.isEmpty, "a field without a name")
        let isToken = field.name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x3A }
        try expect(isToken, "the field \(field.name)")
        let isValue = field.value.utf8.allSatisfy { ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }
        try expect(isValue, "the value of \(field.name)")
    }

    /// Checks that an encoded head is parsed again as the same head.
    private static func again(_ head: RequestHead) throws(Finding) {
        guard head.targetForm == .origin, let host = head.field("host") else { return }
        let others = head.fields.filter { $0.name.lowercased() != "expect" }
        let request = Request(head.method, head.target, host: host, fields: others)
        // Text values have lost bytes that are not UTF-8.
        guard let bytes = try? request.encode() else { return }
        var parser = RequestParser(
            limits: HTTPLimits(
                requestLineLengthMax: 1 << 20,
                fieldCountMax: 1_000,
                fieldBytesMax: 1 << 20
            )
        )
        var index = 0
        guard case .head(let copy)? = try? parser.advance(over: bytes.span, from: &index) else {
            throw Finding(description: "\(bytes) is refused")
        }
        try expectEqual(index, bytes.count, "the end of the copy")
        try expectEqual(copy.target, head.target, "the target")
        try expectEqual(copy.method, head.method, "the method")
        let owned = ["host", "connection", "content-length", "transfer-encoding"]
        func kept(_ fields: [Field]) -> [Field] {
            fields.filter { !owned.contains($0.name.lowercased()) }
        }
        try expectEqual(kept(copy.fields), kept(others), "the fields")
    }

    private static func validate(query: String) throws(Finding) {
        for item in Query(query).items {
            guard let name = item.name, let value = item.value else { continue }
            let found = Query(query).all(name)
            try expect(found.contains(value), "\(name) of \(query)")
        }
        let bytes = Array(query.utf8)
        guard let form = FormURLEncoded(decoding: bytes.span) else { return }
        let written = form.encode()
        try expectEqual(FormURLEncoded(decoding: written.span), form, "the form \(query)")
    }
}

extension HTTPLimits {
    /// Limits that short inputs reach, or the defaults.
    init(fuzzing choice: UInt8) {
        self.init()
        if choice & 1 != 0 { requestLineLengthMax = 40 }
        if choice & 2 != 0 { fieldCountMax = 3 }
        if choice & 4 != 0 { fieldBytesMax = 120 }
        if choice & 8 != 0 { bodyLengthMax = 30 }
        if choice & 16 != 0 { chunkExtensionBytesMax = 10 }
    }
}
