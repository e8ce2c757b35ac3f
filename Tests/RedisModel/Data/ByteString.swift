import RESP

/// A string of any bytes, as Redis has them: compared by bytes, never by characters.
package struct ByteString: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The bytes.
    package var bytes: [UInt8]

    package init(_ bytes: [UInt8] = []) { self.bytes = bytes }

    package init(_ text: some StringProtocol) { bytes = Array(text.utf8) }

    package init(_ number: some BinaryInteger) { self.init(String(number)) }

    /// The bytes as text, for messages; invalid UTF-8 becomes U+FFFD.
    package var description: String { String(decoding: bytes, as: UTF8.self) }

    package var count: Int { bytes.count }

    package var isEmpty: Bool { bytes.isEmpty }

    /// An integer in the one form that Redis accepts: without a plus sign, leading zeros, or a negative zero.
    package var integer: Int64? {
        let isNegative = bytes.first == UInt8(ascii: "-")
        let digits = isNegative ? bytes.dropFirst() : bytes[...]
        guard let first = digits.first, first != UInt8(ascii: "0") || bytes.count == 1 else {
            return nil
        }
        var number: Int64 = 0
        for byte in digits {
            guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte else { return nil }
            let digit = Int64(byte - UInt8(ascii: "0"))
            let (product, isTooLarge) = number.multipliedReportingOverflow(by: 10)
            let (sum, isBeyond) =
                isNegative
                ? product.subtractingReportingOverflow(digit)
                : product.addingReportingOverflow(digit)
            guard !isTooLarge, !isBeyond else { return nil }
            number = sum
        }
        return number
    }

    package static func == (left: ByteString, right: ByteString) -> Bool {
        left.bytes == right.bytes
    }

    package static func < (left: ByteString, right: ByteString) -> Bool {
        left.bytes.lexicographicallyPrecedes(right.bytes)
    }

    package static func + (left: ByteString, right: ByteString) -> ByteString {
        ByteString(left.bytes + right.bytes)
    }

    package func hash(into hasher: inout Hasher) {
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }

    package func hasPrefix(_ prefix: ByteString) -> Bool { bytes.starts(with: prefix.bytes) }

    package func dropFirst(_ count: Int) -> ByteString { ByteString(Array(bytes.dropFirst(count))) }

    /// Whether a flag is among the letters.
    package func has(_ flag: Unicode.Scalar) -> Bool { bytes.contains(UInt8(ascii: flag)) }

    /// Splits at the first `count - 1` separators.
    ///
    /// - Returns: At most `count` parts, the last with the remaining separators.
    package func parts(_ count: Int, by separator: Unicode.Scalar) -> [ByteString] {
        bytes.split(
            separator: UInt8(ascii: separator),
            maxSplits: count - 1,
            omittingEmptySubsequences: false
        ).map { ByteString(Array($0)) }
    }
}

extension ByteString: ExpressibleByStringInterpolation {
    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var bytes: [UInt8] = []

        package init(literalCapacity: Int, interpolationCount: Int) {}

        package mutating func appendLiteral(_ literal: String) { bytes += literal.utf8 }

        package mutating func appendInterpolation(_ string: ByteString) { bytes += string.bytes }

        package mutating func appendInterpolation(_ text: String) { bytes += text.utf8 }

        package mutating func appendInterpolation(_ number: some BinaryInteger) {
            bytes += String(number).utf8
        }
    }

    package init(stringLiteral literal: String) { self.init(literal) }

    package init(stringInterpolation interpolation: StringInterpolation) {
        bytes = interpolation.bytes
    }
}
