import Primitives
import TestRandom
import Testing

@Suite("CRC-32C, RFC 3720 B.4") struct CRC32CTests {
    private func sum(_ bytes: [UInt8]) -> UInt32 {
        var sum = CRC32C()
        sum.add(bytes.span)
        return sum.value
    }

    @Test("The vectors of RFC 3720, and the check value of the catalogue") func vectors() {
        #expect(sum([UInt8](repeating: 0, count: 32)) == 0x8A91_36AA)
        #expect(sum([UInt8](repeating: 0xFF, count: 32)) == 0x62A8_AB43)
        #expect(sum(Array(0..<32)) == 0x46DD_794E)
        #expect(sum((0..<32).reversed()) == 0x113F_DB5C)
        #expect(sum(Array("123456789".utf8)) == 0xE306_9283)
        #expect(sum([]) == 0)
    }

    @Test("Any parts have the checksum of the whole") func parts() {
        var random = SeededRandom(seed: 7)
        let bytes = (0..<200).map { _ in UInt8.random(in: 0...255, using: &random) }
        for cut in 0...bytes.count {
            var parts = CRC32C()
            let (head, tail) = (Array(bytes[..<cut]), Array(bytes[cut...]))
            parts.add(head.span)
            parts.add(tail.span)
            #expect(parts.value == sum(bytes))
        }
        var number = CRC32C()
        number.add(Int64(0x0807_0605_0403_0201))
        #expect(number.value == sum(Array(1...8)))
    }
}
