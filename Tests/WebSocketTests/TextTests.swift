import Testing

@testable import WebSocket

@Suite("Text is UTF-8, RFC 6455 §8.1") struct TextTests {
    /// Valid texts of Autobahn 6.2 and 6.5–6.23, after Markus Kuhn's UTF-8 test.
    private static let valid = [
        "'Hello-µ@ßöäüàá-UTF-8!!'", "'hello' 24 'world'", "'hello' C2A2 'world'",
        "'hello' E282AC 'world'", "'hello' F0A4ADA2 'world'", "CEBA E1BDB9 CF83 CEBC CEB5", "CEBA",
        "CEBA E1BDB9", "CEBA E1BDB9 CF83", "CEBA E1BDB9 CF83 CEBC", "00", "C280", "E0A080",
        "F0908080", "7F", "DFBF", "EFBFBF", "F48FBFBF", "ED9FBF", "EE8080", "EFBFBD", "EFBFBE",
        "F09FBFBE", "F09FBFBF", "F0AFBFBE", "F0BFBFBF", "F18FBFBE", "F1BFBFBF", "F28FBFBF",
        "F3BFBFBE", "F48FBFBE",
    ]
    /// Invalid texts of the same sections.
    private static let invalid = [
        "CE", "CEBA E1", "CEBA E1BD", "CEBA E1BDB9 CF", "CEBA E1BDB9 CF83 CE", "F888808080",
        "FC8480808080", "F7BFBFBF", "FBBFBFBFBF", "FDBFBFBFBFBF", "F4908080", "80", "BF", "80BF",
        "80BF80", "80BF80BF", "80BF80BF80", "80BF80BF80BF", "8081828384858687", "C020C120",
        "E020EF20",
        "F020F720", "F820FB20", "FC20FD20", "C0", "E080", "F08080", "F8808080", "FC80808080", "DF",
        "EFBF", "F7BFBF", "FBBFBFBF", "FDBFBFBFBF", "C0E080F08080F8808080FC80808080DFEFBFF7BFBF",
        "FE",
        "FF", "FEFEFFFF", "C0AF", "E080AF", "F08080AF", "F8808080AF", "FC80808080AF", "C1BF",
        "E09FBF",
        "F08FBFBF", "F887BFBFBF", "FC83BFBFBFBF", "C080", "E08080", "F0808080", "F880808080",
        "FC8080808080", "EDA080", "EDADBF", "EDAE80", "EDAFBF", "EDB080", "EDBE80", "EDBFBF",
        "EDA080EDB080", "EDA080EDBFBF", "EDADBFEDB080", "EDADBFEDBFBF", "EDAE80EDB080",
        "EDAE80EDBFBF",
        "EDAFBFEDB080", "EDAFBFEDBFBF",
    ]

    private func frame(_ text: [UInt8]) -> [UInt8] { FrameEncoder.frame(.text, payload: text.span) }

    /// Returns the text with a frame for each byte.
    private func fragments(_ text: [UInt8]) -> [UInt8] {
        var frames = bytes("01 00")
        for index in text.indices {
            FrameEncoder.append(
                .continuation,
                isFinal: index == text.count - 1,
                payload: text.span.extracting(index..<index + 1),
                to: &frames
            )
        }
        return frames
    }

    @Test("Valid texts, whole and in fragments (Autobahn 6.2, 6.5–6.23)")
    func isHeard() {
        for literal in Self.valid {
            let text = bytes(literal)
            let expected = [EndpointEvent.text(String(decoding: text, as: UTF8.self))]
            expect(frame(text), areReceivedAs: expected)
            expect(fragments(text), areReceivedAs: expected)
        }
    }

    @Test("Invalid texts, whole and in fragments (Autobahn 6.3, 6.6–6.21)")
    func isRefused() {
        for literal in Self.invalid {
            expect(frame(bytes(literal)), areReceivedAs: [.failed(.invalidText)])
            expect(fragments(bytes(literal)), areReceivedAs: [.failed(.invalidText)])
        }
    }

    @Test("The same bytes are valid in a binary message")
    func binaryIsFree() {
        for literal in Self.invalid {
            let payload = bytes(literal)
            expect(
                FrameEncoder.frame(.binary, payload: payload.span),
                areReceivedAs: [.binary(payload)]
            )
        }
    }

    @Test("An invalid byte fails at once in a later fragment (Autobahn 6.4.1, 6.4.2)")
    func failsInTheFragment() {
        let first = bytes("01 0B CEBAE1BDB9CF83CEBCCEB5")
        #expect(receive([first], as: .client).isEmpty)
        #expect(receive([first, bytes("00 04 F4908080")], as: .client) == [.failed(.invalidText)])
        #expect(
            receive([first, bytes("00 01 F4 00 01 90")], as: .client) == [.failed(.invalidText)]
        )
        #expect(receive([first, bytes("00 01 F4")], as: .client).isEmpty)
    }

    @Test("An invalid byte fails at once inside an incomplete frame (Autobahn 6.4.3, 6.4.4)")
    func failsInsideTheFrame() {
        // 11 valid bytes, then U+110000, whose second byte is the first invalid one.
        let stream = bytes("81 15 CEBAE1BDB9CF83CEBCCEB5 F4908080 656469746564")
        #expect(lengthRefused(stream) == 2 + 13)
        #expect(lengthRefused(stream, as: .server) == 6 + 13)
    }

    @Test func aScalarMayBeSplitByFragmentsAndControlFrames() {
        expect(
            bytes("01 01 F0 89 00 00 01 9F 8A 00 00 00 00 01 8E 80 01 BA"),
            areReceivedAs: [.ping([]), .pong([]), .text("🎺")]
        )
        expect(bytes("01 01 F0 80 02 9F8E"), areReceivedAs: [.failed(.invalidText)])
    }

    @Test func aValidatorStartsOverWithEachMessage() {
        expect(
            bytes("01 02 C3A4 80 00 81 01 'a' 01 01 'b' 80 02 C3B6"),
            areReceivedAs: [.text("ä"), .text("a"), .text("bö")]
        )
    }
}
