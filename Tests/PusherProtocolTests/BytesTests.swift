import Testing

@testable import PusherProtocol

@Suite("Searches in borrowed bytes") struct BytesTests {
    @Test func theSearchFindsWhatALoopFinds() {
        for length in 0...26 {
            for place in 0...length {
                for filler: UInt8 in [0x00, 0x25, 0x27, 0xA6] {
                    var text = [UInt8](repeating: filler, count: length)
                    if place < length { text[place] = 0x26 }
                    for start in 0...length {
                        let expected = text[start...].firstIndex(of: 0x26)
                        #expect(index(of: 0x26, in: text, from: start) == expected)
                    }
                }
            }
        }
    }

    private func index(of byte: UInt8, in text: [UInt8], from start: Int) -> Int? {
        text.span.firstIndex(of: byte, from: start)
    }
}
