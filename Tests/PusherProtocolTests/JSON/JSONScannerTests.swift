import PusherProtocol
import Testing
import TestRandom

@Suite("JSON scanner, RFC 8259") struct JSONScannerTests {
    static let accepted = [
        "{}", "[]", "\"\"", "0", "-0", "true", "false", "null", " \t\r\n1 \t\r\n", "[[]]", "[{}]",
        "{\"\":0}", "{\"a\":1,\"a\":2}", "[1,2 , 3]", "-1", "10", "123456789012345678901234567890",
        "0.5", "-0.0", "1e5", "1E+5", "1e-5", "0e1", "1.25e10", "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
        "\"\\u0000\"", "\"\\u00e9\"", "\"\\uD83D\\uDE00\"", "\"\\ud83d\\ude00\"", "\"\u{7F}\"",
        "\"é\"", "\"😀\"", "\"\u{2028}\"", "\"\u{FEFF}\"", "{\"a\":{\"b\":[true,false,null]}}",
        "[\"a\",1,{}]", "\"\\uFFFF\"", "\"\u{10FFFF}\"",
    ]

    @Test(arguments: accepted)
    func accepts(literal: String) throws {
        let value = try JSONScanner.scan(bytes(literal).span)
        let trimmed = literal.drop { " \t\r\n".contains($0) }
        #expect(value.token(in: bytes(literal).span).count <= bytes(String(trimmed)).count)
    }

    static let refused: [(String, JSONError)] = [
        ("", .unexpectedEnd), (" ", .unexpectedEnd), ("[", .unexpectedEnd), ("{", .unexpectedEnd),
        ("[1", .unexpectedEnd), ("[1,", .unexpectedEnd), ("{\"a\"", .unexpectedEnd),
        ("{\"a\":", .unexpectedEnd), ("{\"a\":1", .unexpectedEnd), ("\"", .unexpectedEnd),
        ("\"\\", .unexpectedEnd), ("\"\\u12", .unexpectedEnd), ("tru", .unexpectedEnd),
        ("-", .unexpectedEnd), ("1.", .unexpectedEnd), ("1e", .unexpectedEnd),
        ("1e+", .unexpectedEnd),
        ("[1,]", .unexpectedByte(UInt8(ascii: "]"), at: 3)),
        ("[,1]", .unexpectedByte(UInt8(ascii: ","), at: 1)),
        ("[1 2]", .unexpectedByte(UInt8(ascii: "2"), at: 3)),
        ("[1,,2]", .unexpectedByte(UInt8(ascii: ","), at: 3)),
        ("{\"a\":1,}", .unexpectedByte(UInt8(ascii: "}"), at: 7)),
        ("{,}", .unexpectedByte(UInt8(ascii: ","), at: 1)),
        ("{a:1}", .unexpectedByte(UInt8(ascii: "a"), at: 1)),
        ("{'a':1}", .unexpectedByte(UInt8(ascii: "'"), at: 1)),
        ("{1:1}", .unexpectedByte(UInt8(ascii: "1"), at: 1)),
        ("{\"a\" 1}", .unexpectedByte(UInt8(ascii: "1"), at: 5)),
        ("{\"a\"::1}", .unexpectedByte(UInt8(ascii: ":"), at: 5)),
        ("{\"a\":1 \"b\":2}", .unexpectedByte(UInt8(ascii: "\""), at: 7)),
        ("[}", .unexpectedByte(UInt8(ascii: "}"), at: 1)),
        ("{]", .unexpectedByte(UInt8(ascii: "]"), at: 1)),
        ("]", .unexpectedByte(UInt8(ascii: "]"), at: 0)),
        ("1 2", .unexpectedByte(UInt8(ascii: "2"), at: 2)),
        ("{}x", .unexpectedByte(UInt8(ascii: "x"), at: 2)),
        ("[]]", .unexpectedByte(UInt8(ascii: "]"), at: 2)),
        ("True", .unexpectedByte(UInt8(ascii: "T"), at: 0)),
        ("trux", .unexpectedByte(UInt8(ascii: "x"), at: 3)),
        ("nul ", .unexpectedByte(0x20, at: 3)),
        ("NaN", .unexpectedByte(UInt8(ascii: "N"), at: 0)),
        ("Infinity", .unexpectedByte(UInt8(ascii: "I"), at: 0)),
        ("+1", .unexpectedByte(UInt8(ascii: "+"), at: 0)),
        (".5", .unexpectedByte(UInt8(ascii: "."), at: 0)),
        ("01", .malformedNumber(at: 0)), ("-01", .malformedNumber(at: 0)),
        ("00", .malformedNumber(at: 0)), ("-a", .malformedNumber(at: 0)),
        ("1.e5", .malformedNumber(at: 0)), ("1ex", .malformedNumber(at: 0)),
        ("[-]", .malformedNumber(at: 1)),
        ("0x1", .unexpectedByte(UInt8(ascii: "x"), at: 1)),
        ("1_000", .unexpectedByte(UInt8(ascii: "_"), at: 1)),
        ("\"\u{1}\"", .controlCharacter(at: 1)), ("\"a\nb\"", .controlCharacter(at: 2)),
        ("\"\u{0}\"", .controlCharacter(at: 1)),
        ("\"\\x41\"", .malformedEscape(at: 1)), ("\"\\'\"", .malformedEscape(at: 1)),
        ("\"\\U0041\"", .malformedEscape(at: 1)), ("\"\\u00g0\"", .malformedEscape(at: 1)),
        ("\"\\u 041\"", .malformedEscape(at: 1)),
        ("\"\\ud800\\u\"", .malformedEscape(at: 7)), ("\"\\ud800\\x\"", .malformedEscape(at: 7)),
        ("\"\\ud800\\ud80", .unexpectedEnd), ("\"\\ud800", .unexpectedEnd),
        ("\u{FEFF}1", .unexpectedByte(0xEF, at: 0)),
        ("\u{A0}1", .unexpectedByte(0xC2, at: 0)),
        ("/**/1", .unexpectedByte(UInt8(ascii: "/"), at: 0)),
        ("1//", .unexpectedByte(UInt8(ascii: "/"), at: 1)),
        ("\u{C}1", .unexpectedByte(0x0C, at: 0)),
    ]

    @Test(arguments: refused)
    func refuses(literal: String, error: JSONError) {
        #expect(throws: error) { try JSONScanner.scan(bytes(literal).span) }
    }

    @Test(
        "Accepts half a surrogate pair, RFC 8259 §8.2, and decodes it as U+FFFD",
        arguments: [
            (#""\ud800""#, "\u{FFFD}"), (#""\udc00""#, "\u{FFFD}"),
            (#""\ud800\ud800""#, "\u{FFFD}\u{FFFD}"), (#""\ud800x""#, "\u{FFFD}x"),
            (#""\ud800\n""#, "\u{FFFD}\n"), (#""\udc00\ud800""#, "\u{FFFD}\u{FFFD}"),
            (#""\ud83d\ud83d\ude00\ude00""#, "\u{FFFD}😀\u{FFFD}"),
            (#""\uD83D\\ude00""#, "\u{FFFD}\\ude00"), (#""a\\ud83d\uDE00""#, "a\\ud83d\u{FFFD}"),
        ]
    )
    func acceptsLoneSurrogates(literal: String, decoded: String) throws {
        let text = bytes(literal)
        let value = try JSONScanner.scan(text.span)
        #expect(value.token(in: text.span) == text)
        #expect(value.string(in: text.span) == decoded)
        #expect(value.decodedLength == decoded.utf8.count)
    }

    @Test(
        "Refuses what is not UTF-8, RFC 3629 §4",
        arguments: [
            [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC2, 0x22], [0xE0, 0x9F, 0xBF],
            [0xE2, 0x28, 0xA1], [0xE2, 0x82, 0x28], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF],
            [0xF0, 0x8F, 0xBF, 0xBF], [0xF0, 0x9F, 0x98, 0x22], [0xF4, 0x90, 0x80, 0x80],
            [0xF5, 0x80, 0x80, 0x80], [0xFE], [0xFF],
        ] as [[UInt8]]
    )
    func refusesMalformedUTF8(sequence: [UInt8]) {
        let text = [UInt8(ascii: "\"")] + sequence + [UInt8(ascii: "\"")]
        #expect(throws: JSONError.malformedUTF8(at: 1)) { try JSONScanner.scan(text.span) }
    }

    @Test func refusesEveryPrefixOfAnObject() {
        let whole = bytes(
            #"{"name":"é\u00e9\ud83d\ude00\n","data":[1.5e-3,-0,true,null,{"a":[]}]}"#
        )
        #expect(throws: Never.self) { try JSONScanner.scan(whole.span) }
        for end in 0..<whole.count {
            #expect(throws: JSONError.self) {
                try JSONScanner.scan(whole.span.extracting(0..<end))
            }
        }
    }

    @Test(arguments: [("[", "]"), ("{\"a\":", "}")])
    func boundsTheDepth(open: String, close: String) throws {
        func nested(_ depth: Int) -> [UInt8] {
            bytes(
                String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)
            )
        }
        #expect(throws: Never.self) { try JSONScanner.scan(nested(128).span) }
        let bomb = JSONError.tooDeep(depthMax: 128, at: 128 * open.utf8.count)
        #expect(throws: bomb) { try JSONScanner.scan(nested(129).span) }
        #expect(throws: bomb) { try JSONScanner.scan(nested(100_000).span) }
        #expect(throws: JSONError.self) { try JSONScanner.scan(nested(2).span, depthMax: 1) }
        // Siblings do not add to the depth.
        let row = "[" + Array(repeating: "[]", count: 1_000).joined(separator: ",") + "]"
        #expect(throws: Never.self) { try JSONScanner.scan(bytes(row).span, depthMax: 2) }
    }

    @Test func scansNestedContainers() throws {
        let text = bytes(#" { "a" : [ 1 , [ ] , "x" ] , "b\u0063" : { } } "#)
        var scanner = JSONScanner()
        try scanner.beginObject(in: text.span)
        let first = try scanner.nextName(in: text.span)
        #expect(first?.equals("a", in: text.span) == true)
        try scanner.beginArray(in: text.span)
        var kinds: [JSONValue.Kind] = []
        while let element = try scanner.nextElement(in: text.span) { kinds.append(element.kind) }
        #expect(kinds == [.number, .array, .string])
        let second = try scanner.nextName(in: text.span)
        #expect(second?.equals("bc", in: text.span) == true)
        #expect(second?.equals("bd", in: text.span) == false)
        #expect(try scanner.value(in: text.span).kind == .object)
        #expect(try scanner.nextName(in: text.span) == nil)
        try scanner.finish(in: text.span)
        #expect(scanner.position == text.count)
    }

    @Test func keepsTheTextOfNumbers() throws {
        let text = bytes("[9007199254740993, 1.10, -0]")
        let array = try JSONScanner.scan(text.span)
        var scanner = JSONScanner(at: array.range.lowerBound)
        try scanner.beginArray(in: text.span)
        var numbers: [String] = []
        while let element = try scanner.nextElement(in: text.span) {
            numbers.append(element.string(in: text.span))
        }
        #expect(numbers == ["9007199254740993", "1.10", "-0"])
    }

    @Test func neverTrapsOnRandomTexts() {
        var generator = SeededRandom(seed: 0x5EED_0001)
        let alphabet = bytes("{}[]\",:\\/ubntr0123456789eE+-. \n\u{1}") + [0x80, 0xC2, 0xED, 0xF0]
        let words = ["true", "false", "null", "\"a\"", "\\u00e9", "\\ud83d", "{\"a\":", "[1,"]
        var acceptedCount = 0
        for _ in 0..<20_000 {
            var text: [UInt8] = []
            for _ in 0..<Int.random(in: 0...12, using: &generator) {
                if Bool.random(using: &generator) {
                    text += bytes(words.randomElement(using: &generator) ?? "")
                } else {
                    text.append(alphabet.randomElement(using: &generator) ?? 0)
                }
            }
            guard let value = try? JSONScanner.scan(text.span) else { continue }
            acceptedCount += 1
            #expect(value.decoded(in: text.span).count == value.decodedLength)
        }
        #expect(acceptedCount > 100)
    }

    @Test func neverTrapsOnMutatedMessages() {
        var generator = SeededRandom(seed: 0x5EED_0002)
        let original = bytes(
            #"{"name":"n\u00e9","channels":["a","b"],"data":"{\"a\":\"\ud83d\ude00\"}","x":[1,{}]}"#
        )
        for _ in 0..<20_000 {
            var text = original
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let index = Int.random(in: 0..<text.count, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: text[index] = UInt8.random(in: 0...255, using: &generator)
                case 1: text.remove(at: index)
                default: text.insert(UInt8.random(in: 0...255, using: &generator), at: index)
                }
            }
            _ = try? JSONScanner.scan(text.span)
            _ = try? TriggerRequest.parse(text.span)
            _ = try? TriggerRequest.parseBatch(text.span)
            _ = try? ClientMessage.parse(text.span)
            _ = try? ServerMessage.parse(text.span)
        }
    }
}
