import Testing

@testable import Gateway

@Suite("Length of streaming responses") struct ResponseLengthTests {
    /// How many of the bytes pass in all, when so many at a time are sent.
    private func passed(_ bytes: [UInt8], step: Int) -> Int {
        var length = ResponseLength()
        var position = 0
        while position < bytes.count {
            let rest = bytes[position..<min(position + step, bytes.count)]
            let count = rest.withUnsafeBytes { bytes in
                let portion = length.portion(of: bytes)
                length.count(UnsafeRawBufferPointer(rebasing: bytes[..<portion]))
                return portion
            }
            guard count > 0 else { break }
            position += count
        }
        return position
    }

    @Test(
        "Nothing passes after the line that takes a response past the length",
        arguments: [
            // The end of the line before is just there, or one character later.
            ([ResponseLength.max - 1, 5, 5], ResponseLength.max + 6),
            ([ResponseLength.max, 5, 5], ResponseLength.max + 1),
            ([ResponseLength.max - 2, 5, 5], ResponseLength.max + 5),
            ([3 * ResponseLength.max, 5], 3 * ResponseLength.max + 1),
            ([5, 5], 12),
        ],
        [1 << 10, 16 << 10, 10 << 20]
    )
    func fills(_ case: (lines: [Int], passed: Int), step: Int) {
        let bytes = `case`.lines.flatMap { [UInt8](repeating: 97, count: $0) + [10] }
        #expect(passed(bytes, step: step) == `case`.passed)
    }
}
