import Testing

@testable import Primitives

@Suite("Percent-encoding, RFC 3986 §2.1") struct PercentEncodingTests {
    @Test(arguments: [
        ("", ""), ("abc", "abc"), ("a%20b", "a b"), ("%C3%a9", "é"), ("%2523", "%23"), ("+", "+"),
        ("%", nil), ("%2", nil), ("a%2", nil), ("%G0", nil), ("%0G", nil), ("%%20", nil),
        ("%FF", nil), ("%00", "\0"),
    ])
    func decodes(text: String, decoded: String?) {
        #expect(PercentEncoding.decode(text) == decoded)
    }

    @Test func decodesPlusInForms() {
        #expect(PercentEncoding.decode("a+b%2B", plusIsSpace: true) == "a b+")
    }

    @Test func encodesAllButTheUnreserved() {
        #expect(PercentEncoding.encode("AZaz09-._~") == "AZaz09-._~")
        #expect(PercentEncoding.encode("a b/é#%") == "a%20b%2F%C3%A9%23%25")
    }

    @Test func roundTrips() {
        for byte in UInt8.min...UInt8.max {
            let text = String(UnicodeScalar(byte))
            #expect(PercentEncoding.decode(PercentEncoding.encode(text)) == text)
        }
    }

    @Test(arguments: [
        ("", ""), ("a%20b", "a b"), ("%", "%"), ("%2", "%2"), ("%G0%41", "%G0A"), ("%%41", "%A"),
        ("100%+%C3%A9", "100%+é"),
    ])
    func decodesLeniently(text: String, decoded: String) {
        let bytes = PercentEncoding.decodeLeniently(Array(text.utf8).span)
        #expect(String(decoding: bytes, as: UTF8.self) == decoded)
    }

    @Test func bothDecodersAgreeOnValidText() {
        let alphabet = Array("%4aG+".utf8)
        for number in 0..<alphabet.count * alphabet.count * alphabet.count * alphabet.count {
            var (text, rest): ([UInt8], Int) = ([], number)
            for _ in 0..<4 {
                text.append(alphabet[rest % alphabet.count])
                rest /= alphabet.count
            }
            guard let strict = PercentEncoding.decode(text.span) else { continue }
            #expect(PercentEncoding.decodeLeniently(text.span) == strict)
        }
    }
}
