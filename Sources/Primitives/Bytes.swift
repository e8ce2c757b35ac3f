#if canImport(Darwin)
    public import Darwin
#else
    public import Glibc
#endif

extension String {
    /// Calls `body` with the bytes of the text.
    ///
    /// Does not use `utf8.span`. On Apple platforms it requires the versions of 2025. In builds optimized by Swift 6.3,
    /// its span of a text of up to 15 bytes, which has no storage, may be overwritten while it is read.
    @inlinable @inline(__always)
    public func withUTF8Bytes<Success, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Success
    ) throws(Failure) -> Success {
        var text = self
        let result = text.withUTF8 { bytes in
            Result { () throws(Failure) in try body(bytes.span) }
        }
        return try result.get()
    }
}

extension Span<UInt8> {
    /// Returns a copy of the bytes as an array.
    @inlinable
    public func copy() -> [UInt8] {
        withUnsafeBufferPointer { [UInt8]($0) }
    }

    /// Returns the bytes as text; invalid UTF-8 becomes U+FFFD.
    @inlinable
    public func string() -> String {
        withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns whether the bytes begin with `literal`.
    @inlinable
    public func starts(with literal: StaticString) -> Bool {
        let length = literal.utf8CodeUnitCount
        guard count >= length else { return false }
        // SAFETY: both have that many bytes, and an ASCII StaticString has a pointer.
        return withUnsafeBytes { bytes in
            bytes.baseAddress.map { memcmp($0, literal.utf8Start, length) == 0 } ?? true
        }
    }

    /// Returns whether the bytes begin with `text`.
    @inlinable
    public func starts(with text: String) -> Bool {
        text.withUTF8Bytes { bytes in
            guard count >= bytes.count else { return false }
            for index in bytes.indices where self[index] != bytes[index] { return false }
            return true
        }
    }

    /// Returns whether the bytes equal `literal`.
    @inlinable
    public func equals(_ literal: StaticString) -> Bool {
        count == literal.utf8CodeUnitCount && starts(with: literal)
    }

    /// Returns whether the bytes equal `literal`, which is in lower case; the comparison is case-insensitive.
    ///
    /// Inlined because every line of a head is compared with literals, whose lengths the caller knows.
    @inlinable @inline(__always)
    public func equalsIgnoringCase(_ literal: StaticString) -> Bool {
        literal.withUTF8Buffer { literal in
            guard literal.count == count else { return false }
            // Without a branch, so that the compiler vectorizes the loop.
            var difference: UInt8 = 0
            for index in indices { difference |= self[index].lowercased ^ literal[index] }
            return difference == 0
        }
    }

    /// Compares with other bytes: first by length, then by the first difference.
    ///
    /// - Returns: Less than, equal to or greater than zero, if these bytes come before, are equal to or come after
    ///   `other`.
    @inlinable
    public func order(against other: Span<UInt8>) -> Int {
        guard count == other.count else { return count - other.count }
        return withUnsafeBytes { left in
            other.withUnsafeBytes { right in
                guard let left = left.baseAddress, let right = right.baseAddress else { return 0 }
                // SAFETY: both have that many bytes.
                return Int(memcmp(left, right, count))
            }
        }
    }

    /// Compares with the bytes of a text, by the same order.
    ///
    /// - Returns: Less than, equal to or greater than zero.
    @inlinable
    public func order(against text: String) -> Int { text.withUTF8Bytes { order(against: $0) } }

    /// Returns the index of the first `byte` at or after `start`; `nil` if there is none.
    @inlinable
    public func firstIndex(of byte: UInt8, from start: Int = 0) -> Int? {
        guard start < count else { return nil }
        return withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return nil }
            // SAFETY: `start` and the remaining length are inside the span.
            return memchr(base + start, Int32(byte), bytes.count - start).map {
                $0 - UnsafeMutableRawPointer(mutating: base)
            }
        }
    }
}

extension [UInt8] {
    /// Appends borrowed bytes.
    @inlinable
    public mutating func append(_ bytes: Span<UInt8>) {
        bytes.withUnsafeBufferPointer { append(contentsOf: $0) }
    }

    /// Appends a number in decimal digits, with a minus sign if negative.
    @inlinable
    public mutating func append(decimal number: Int) {
        if number < 0 { append(UInt8(ascii: "-")) }
        append(decimal: UInt64(number.magnitude))
    }

    /// Appends a number in decimal digits.
    @inlinable
    public mutating func append(decimal number: UInt64) {
        // 2⁶⁴ has 20 digits; the last one is computed first.
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var start = digits.count
            var rest = number
            repeat {
                start -= 1
                digits.initializeElement(at: start, to: 0x30 + UInt8(truncatingIfNeeded: rest % 10))
                rest /= 10
            } while rest > 0
            append(contentsOf: digits[start...])
        }
    }

    /// Appends the bytes of a literal.
    @inlinable
    public mutating func append(_ literal: StaticString) {
        literal.withUTF8Buffer { append(contentsOf: $0) }
    }
}

extension UInt64 {
    /// The number of decimal digits.
    @inlinable
    public var decimalDigitCount: Int {
        var (count, rest) = (1, self / 10)
        while rest > 0 {
            count += 1
            rest /= 10
        }
        return count
    }
}
