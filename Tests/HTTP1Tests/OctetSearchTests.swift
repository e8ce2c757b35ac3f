import Testing

@testable import HTTP1

@Suite("Searches in borrowed bytes") struct OctetSearchTests {
    @Test func theSearchFindsWhatALoopFinds() {
        for length in 0...26 {
            for place in 0...length {
                for filler: UInt8 in [0x00, 0x0B, 0x8A, 0xFF] {
                    var text = [UInt8](repeating: filler, count: length)
                    if place < length { text[place] = 0x0A }
                    for start in 0...length {
                        let expected = text[start...].firstIndex(of: 0x0A)
                        #expect(index(of: 0x0A, in: text, from: start) == expected)
                    }
                }
            }
        }
    }

    @Test func targetsHoldVisibleCharactersExceptFour() {
        let refused = Set("#\"<>".utf8)
        for byte in UInt8.min...UInt8.max {
            let isVisible = (0x21...0x7E).contains(byte)
            #expect(isTarget([byte]) == (isVisible && !refused.contains(byte)))
        }
    }

    @Test func fieldValuesHoldAllButControls() {
        for byte in UInt8.min...UInt8.max {
            let text = [byte]
            #expect(text.span.isFieldValue == Octet.isFieldValue(byte))
        }
    }

    /// A wrong byte is found at each place and length, and nothing behind the last byte counts.
    @Test func oneWrongByteIsEnough() {
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

    private func index(of byte: UInt8, in text: [UInt8], from start: Int) -> Int? {
        text.span.firstIndex(of: byte, from: start)
    }
}
