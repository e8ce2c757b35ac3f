import Primitives

/// The forms of numbers.
enum RESPNumber {
    /// Parses an integer of 64 bits; nil for any other text.
    static func integer(_ text: Span<UInt8>) -> Int64? {
        guard !text.isEmpty else { return nil }
        let isNegative = text[0] == UInt8(ascii: "-")
        let start = isNegative || text[0] == UInt8(ascii: "+") ? 1 : 0
        guard text.count > start else { return nil }
        // Accumulated as a negative number, because the least integer has no positive counterpart.
        var number: Int64 = 0
        for index in start..<text.count {
            let digit = text[index] &- 0x30
            guard digit < 10 else { return nil }
            let (product, overflow) = number.multipliedReportingOverflow(by: 10)
            let (difference, borrow) = product.subtractingReportingOverflow(Int64(digit))
            guard !overflow, !borrow else { return nil }
            number = difference
        }
        guard !isNegative else { return number }
        return number == .min ? nil : -number
    }

    /// Whether a text is an integer of any size.
    static func isBigNumber(_ text: Span<UInt8>) -> Bool {
        var index = afterSign(text, 0)
        return takeDigits(text, &index) && index == text.count
    }

    /// Whether a text is a floating-point number.
    static func isDouble(_ text: Span<UInt8>) -> Bool {
        if text.equals("inf") || text.equals("-inf") || text.equals("nan") || text.equals("-nan") {
            return true
        }
        var index = afterSign(text, 0)
        guard takeDigits(text, &index) else { return false }
        if index < text.count, text[index] == UInt8(ascii: ".") {
            index += 1
            guard takeDigits(text, &index) else { return false }
        }
        if index < text.count, text[index] | 0x20 == UInt8(ascii: "e") {
            index = afterSign(text, index + 1)
            guard takeDigits(text, &index) else { return false }
        }
        return index == text.count
    }

    private static func afterSign(_ text: Span<UInt8>, _ index: Int) -> Int {
        guard index < text.count else { return index }
        return text[index] == UInt8(ascii: "-") || text[index] == UInt8(ascii: "+")
            ? index + 1 : index
    }

    /// Moves `index` past one or more digits; false if there is none.
    private static func takeDigits(_ text: Span<UInt8>, _ index: inout Int) -> Bool {
        let start = index
        while index < text.count, text[index] &- 0x30 < 10 { index += 1 }
        return index > start
    }
}
