import Testing

@testable import HTTP1

@Suite("Searches in borrowed bytes") struct OctetSearchTests {
    @Test func theSearchByWordFindsWhatALoopFinds() {
        // 0x0B beside a line feed is what a borrow between the lanes of a word would confuse.
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
            #expect(Octet.isTarget(byte) == (isVisible && !refused.contains(byte)))
        }
    }

    private func index(of byte: UInt8, in text: [UInt8], from start: Int) -> Int? {
        text.span.firstIndex(of: byte, from: start)
    }
}
