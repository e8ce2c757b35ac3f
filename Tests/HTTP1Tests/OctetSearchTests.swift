import Testing

@testable import HTTP1

@Suite("Searches in borrowed bytes") struct OctetSearchTests {
    @Test func targetsAllowVisibleCharactersExceptFour() {
        let refused = Set("#\"<>".utf8)
        for byte in UInt8.min...UInt8.max {
            let isVisible = (0x21...0x7E).contains(byte)
            #expect(isTarget([byte]) == (isVisible && !refused.contains(byte)))
        }
    }

    @Test func fieldValuesAllowAllButControls() {
        for byte in UInt8.min...UInt8.max {
            let text = [byte]
            #expect(text.span.isFieldValue == Octet.isFieldValue(byte))
        }
    }

    /// An invalid byte is found at each index and length, and bytes after the last one are ignored.
    @Test func oneInvalidByteIsFound() {
        for length in 0...50 {
            #expect(isTarget([UInt8](repeating: 0x61, count: length)))
            #expect(isFieldValue([UInt8](repeating: 0x61, count: length)))
            for place in 0..<length {
                for wrong in "\u{0}\u{1F}\u{7F}".utf8 {
                    var text = [UInt8](repeating: 0x61, count: length)
                    text[place] = wrong
                    #expect(!isTarget(text))
                    #expect(!isFieldValue(text))
                }
                var text = [UInt8](repeating: 0x61, count: length)
                text[place] = Octet.tab
                #expect(!isTarget(text))
                #expect(isFieldValue(text))
            }
        }
    }

    private func isTarget(_ text: [UInt8]) -> Bool { text.span.isTarget }
    private func isFieldValue(_ text: [UInt8]) -> Bool { text.span.isFieldValue }
}
