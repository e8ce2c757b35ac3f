import PusherProtocol
import Testing
import TestRandom

@Suite("JSON writer") struct JSONWriterTests {
    @Test func insertsCommas() {
        var json = JSONWriter()
        json.beginObject()
        json.name("a")
        json.beginArray()
        json.integer(1)
        json.boolean(true)
        json.boolean(false)
        json.null()
        json.beginObject()
        json.endObject()
        json.string("x")
        json.endArray()
        json.name("b")
        json.verbatim(bytes("[1]"))
        json.endObject()
        #expect(text(json.bytes) == #"{"a":[1,true,false,null,{},"x"],"b":[1]}"#)
    }

    @Test(
        "Escapes what RFC 8259 §7 asks for",
        arguments: [
            ("plain", #""plain""#), ("\"\\/", #""\"\\/""#), ("\n\r\t", #""\n\r\t""#),
            ("\u{0}\u{8}\u{B}\u{1F}", #""\u0000\u0008\u000b\u001f""#), ("é😀\u{7F}", "\"é😀\u{7F}\""),
        ]
    )
    func escapes(value: String, literal: String) {
        #expect(text(JSONWriter.token(value)) == literal)
    }

    @Test func writesWhatTheScannerReadsBack() throws {
        var generator = SeededRandom(seed: 0x5EED_0003)
        for _ in 0..<2_000 {
            let scalars = (0..<Int.random(in: 0...20, using: &generator)).compactMap { _ in
                Unicode.Scalar(UInt32.random(in: 0...0x1_10000, using: &generator) >> 8)
                    ?? Unicode.Scalar(UInt32.random(in: 0...0x10FFFF, using: &generator))
            }
            let value = String(String.UnicodeScalarView(scalars))
            let token = JSONWriter.token(value)
            let scanned = try JSONScanner.scan(token.span)
            #expect(scanned.decoded(in: token.span) == bytes(value))
            #expect(scanned.decodedLength == value.utf8.count)
            #expect(scanned.string(in: token.span) == value)
        }
    }
}

@Suite("JSON values") struct JSONValueTests {
    @Test(
        "Resolves escapes and knows the length beforehand",
        arguments: [
            (#""""#, ""), (#""a""#, "a"), (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"),
            (#""\u0041\u00e9\u20ac\uD83D\uDE00""#, "Aé€😀"), (#""x\u0000y""#, "x\u{0}y"),
            (#""\ud7ff\ue000\uffff""#, "\u{D7FF}\u{E000}\u{FFFF}"),
            (#""\udbff\udfff""#, "\u{10FFFF}"),
        ]
    )
    func decodes(literal: String, value: String) throws {
        let text = bytes(literal)
        let scanned = try JSONScanner.scan(text.span)
        #expect(scanned.decodedLength == value.utf8.count)
        #expect(scanned.decoded(in: text.span) == bytes(value))
        #expect(scanned.string(in: text.span) == value)
        #expect(scanned.hasEscapes == literal.contains("\\"))
        #expect(scanned.token(in: text.span) == text)
    }
}
