import PusherProtocol

/// A JSON text: the first byte chooses the maximum depth, the rest is the text.
enum JSONFuzzing {
    static func run(_ input: [UInt8]) throws(Finding) {
        var choices = Choices(input)
        let depthMax = choices.bool() ? 3 : JSONScanner.depthMaxDefault
        let text = choices.remainder()
        let naive = NaiveJSON(text, depthMax: depthMax)
        let scanned = Result { () throws(JSONError) in
            try JSONScanner.scan(text.span, depthMax: depthMax)
        }
        switch (scanned, naive) {
        case (.failure, nil): return
        case (.failure(let error), _?): throw Finding(description: "JSON, but refused: \(error)")
        case (.success, nil): throw Finding(description: "no JSON, but accepted")
        case (.success(let value), let naive?):
            try expectEqual(tree(value, text), naive, "what was read")
            var writer = JSONWriter()
            write(naive, to: &writer)
            try expectEqual(NaiveJSON(writer.bytes, depthMax: depthMax), naive, "written and read")
            guard let repaired = JSONEscapes.repaired(text) else { return }
            try expectEqual(NaiveJSON(repaired, depthMax: depthMax), naive, "repaired and read")
            try expect(JSONEscapes.repaired(repaired) == nil, "half a surrogate pair is left")
        }
    }

    /// Reads a value completely, with the scanner calls of the protocol's parsers.
    private static func tree(_ value: JSONValue, _ text: [UInt8]) throws(Finding) -> NaiveJSON {
        let decoded = value.decoded(in: text.span)
        try expectEqual(decoded.count, value.decodedLength, "the length of \(value)")
        switch value.kind {
        case .string:
            let units = String(decoding: value.codeUnits(in: text.span), as: UTF16.self)
            try expectEqual(Array(units.utf8), decoded, "the code units of \(value)")
            return .string(decoded)
        case .number, .boolean, .null: return .word(String(decoding: decoded, as: UTF8.self))
        case .array, .object: break
        }
        var scanner = JSONScanner(at: value.range.lowerBound, depthMax: .max)
        var members: [NaiveJSON.Member] = []
        var elements: [NaiveJSON] = []
        do throws(JSONError) {
            if value.kind == .array {
                try scanner.beginArray(in: text.span)
            } else {
                try scanner.beginObject(in: text.span)
            }
        } catch {
            throw Finding(description: "\(value) does not begin: \(error)")
        }
        if value.kind == .array {
            while let element = try? scanner.nextElement(in: text.span) {
                elements.append(try tree(element, text))
            }
        } else {
            while let name = try? scanner.nextName(in: text.span),
                let value = try? scanner.value(in: text.span)
            {
                let name = name.decoded(in: text.span)
                members.append(NaiveJSON.Member(name: name, value: try tree(value, text)))
            }
        }
        try expectEqual(scanner.position, value.range.upperBound, "the end of \(value)")
        return value.kind == .array ? .array(elements) : .object(members)
    }

    private static func write(_ value: NaiveJSON, to writer: inout JSONWriter) {
        switch value {
        case .string(let bytes): writer.string(bytes.span)
        case .word(let text): writer.verbatim(Array(text.utf8))
        case .array(let elements):
            writer.beginArray()
            for element in elements { write(element, to: &writer) }
            writer.endArray()
        case .object(let members):
            writer.beginObject()
            for member in members {
                writer.name(String(decoding: member.name, as: UTF8.self))
                write(member.value, to: &writer)
            }
            writer.endObject()
        }
    }
}
