/// The integers from 0 to 2^53 − 1, which every JSON reader, and Lua in Redis, represents exactly.
///
/// Numbers from outside, such as serials, counts and times in milliseconds, are read as these. They come from a peer's
/// message, a reply of Redis, or a row of a file. The sum of a thousand of them, and their product with 1,000, fit in a
/// signed 64-bit integer.
public enum SafeInteger {
    /// The largest one: 2^53 − 1, JavaScript's `Number.MAX_SAFE_INTEGER`.
    public static let max: Int64 = 1 << 53 - 1
}

extension FixedWidthInteger {
    /// Converts a number from outside; nil for a negative one, and for one above ``SafeInteger/max``.
    public init?(safe number: some BinaryInteger) {
        guard number >= 0, number <= SafeInteger.max else { return nil }
        self.init(exactly: number)
    }

    /// Parses decimal digits; nil for any other text, and for a number above ``SafeInteger/max``.
    public init?(safe text: Span<UInt8>) {
        guard !text.isEmpty else { return nil }
        var number: Int64 = 0
        for index in text.indices {
            let digit = text[index] &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            // At most 10 × 2^53 + 9.
            number = number * 10 + Int64(digit)
            guard number <= SafeInteger.max else { return nil }
        }
        self.init(exactly: number)
    }
}
