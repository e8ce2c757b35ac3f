import Testing

@testable import Primitives

@Suite("Integers from outside") struct SafeIntegerTests {
    @Test(
        arguments: [
            (Int64.min, nil), (-1, nil), (0, 0), (1, 1), (1 << 53 - 1, 1 << 53 - 1), (1 << 53, nil),
            (.max, nil),
        ] as [(Int64, UInt64?)]
    )
    func areFromZeroToTheLargestExactOne(number: Int64, expected: UInt64?) {
        #expect(UInt64(safe: number) == expected)
    }

    @Test func fitIntoTheirType() {
        #expect(UInt64(safe: UInt64.max) == nil)
        #expect(Int32(safe: 1 << 31) == nil)
        #expect(Int32(safe: 1 << 31 - 1) == .max)
    }

    @Test(
        arguments: [
            ("", nil), ("0", 0), ("007", 7), ("9007199254740991", 1 << 53 - 1),
            ("9007199254740992", nil),
            ("18446744073709551616", nil), ("99999999999999999999999999", nil), ("-1", nil),
            ("+1", nil),
            ("1.0", nil), ("1e3", nil), (" 1", nil), ("1 ", nil), ("x", nil), ("/", nil),
            (":", nil),
        ] as [(String, UInt64?)]
    )
    func areDigitsAlone(text: String, expected: UInt64?) {
        #expect(UInt64(safe: Array(text.utf8).span) == expected)
    }
}
