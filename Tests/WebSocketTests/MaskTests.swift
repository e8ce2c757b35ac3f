import Testing
import TestRandom

@testable import WebSocket

@Suite("Masking, RFC 6455 §5.3") struct MaskTests {
    /// The definition, byte by byte.
    private func twin(_ key: UInt32, _ bytes: [UInt8]) -> [UInt8] {
        bytes.enumerated().map { $1 ^ UInt8(truncatingIfNeeded: key >> (24 - 8 * ($0 % 4))) }
    }

    @Test func theExampleOfSection5_7() {
        var payload = bytes("7f9f4d5158")
        var span = payload.mutableSpan
        Mask.apply(0x37FA_213D, to: &span, in: 0..<5)
        #expect(payload == bytes("'Hello'"))
    }

    @Test func everyLengthAndAlignmentEqualsItsTwin() {
        var random = SeededRandom(seed: 1)
        for length in 0...70 {
            for start in 0...17 {
                let key = UInt32(truncatingIfNeeded: random.next())
                let before = random.bytes(start + length + 9)
                var after = before
                var span = after.mutableSpan
                Mask.apply(key, to: &span, in: start..<start + length)
                let middle = twin(key, Array(before[start..<start + length]))
                #expect(
                    after == before[..<start] + middle + before[(start + length)...],
                    "length \(length) at \(start)"
                )
            }
        }
    }

    @Test func aRotatedKeyContinuesAPayload() {
        var random = SeededRandom(seed: 2)
        for cut in 0...33 {
            let key = UInt32(truncatingIfNeeded: random.next())
            let before = random.bytes(33)
            var after = before
            var span = after.mutableSpan
            Mask.apply(key, to: &span, in: 0..<cut)
            Mask.apply(Mask.rotated(key, by: cut), to: &span, in: cut..<33)
            #expect(after == twin(key, before), "cut at \(cut)")
        }
        #expect(Mask.rotated(0x0102_0304, by: 1) == 0x0203_0401)
        #expect(Mask.rotated(0x0102_0304, by: 4) == 0x0102_0304)
        #expect(Mask.rotated(0x0102_0304, by: 7) == 0x0401_0203)
    }

    @Test func maskingTwiceRestoresTheBytes() {
        var random = SeededRandom(seed: 3)
        let before = random.bytes(1000)
        var after = before
        var span = after.mutableSpan
        Mask.apply(0xDEAD_BEEF, to: &span, in: 3..<997)
        Mask.apply(0xDEAD_BEEF, to: &span, in: 3..<997)
        #expect(after == before)
    }

    @Test func aRangeOutsideTheBytesTraps() async {
        await #expect(processExitsWith: .failure) {
            var four: [UInt8] = [1, 2, 3, 4]
            var span = four.mutableSpan
            Mask.apply(1, to: &span, in: 0..<5)
        }
    }
}
