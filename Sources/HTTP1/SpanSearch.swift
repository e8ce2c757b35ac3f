import Primitives

extension Span<UInt8> {
    /// Returns the index of the first byte in `range` that is not in a set; the end of `range` if all are.
    @inline(__always)
    func end(of set: OctetSet, in range: Range<Int>) -> Int {
        extracting(range).withUnsafeBufferPointer { bytes in
            // Letters are in every set, and most bytes are letters.
            let count =
                bytes.firstIndex { !$0.isLetter && !set.contains($0) } ?? bytes.count
            return range.lowerBound + count
        }
    }

    // The next two are loops without a branch, which the compiler vectorizes over 16 bytes.

    /// Whether all bytes are allowed in a request target (RFC 9112 §3.2): visible ASCII without `#`, `"`, `<` and `>`.
    ///
    /// RFC 3986 also excludes `[ ] \ ^ { | }` and the back-tick. But browsers send these unchanged in a query (WHATWG
    /// URL), and none can be mistaken for the end of the target.
    var isTarget: Bool {
        var lowest = UInt8.max
        var highest = UInt8.min
        // Zero for a refused byte: `"` and `#` differ in one bit, `<` and `>` in another.
        var nearest = UInt8.max
        for index in indices {
            let byte = self[index]
            lowest = Swift.min(lowest, byte)
            highest = Swift.max(highest, byte)
            nearest = Swift.min(nearest, byte & ~0x01 ^ 0x22, byte & ~0x02 ^ 0x3C)
        }
        return lowest > 0x20 && highest < 0x7F && nearest > 0
    }

    /// Whether all bytes are allowed in a field value; see ``Octet/isFieldValue(_:)``.
    var isFieldValue: Bool {
        var lowest = UInt8.max
        var nearest = UInt8.max
        for index in indices {
            lowest = Swift.min(lowest, self[index])
            nearest = Swift.min(nearest, self[index] ^ 0x7F)
        }
        if lowest >= 0x20, nearest > 0 { return true }
        // Usually there is no tab, so the slow check is rare.
        return indices.allSatisfy { Octet.isFieldValue(self[$0]) }
    }

    /// Returns a copy of the bytes in `range`.
    func copy(_ range: Range<Int>) -> [UInt8] {
        extracting(range).withUnsafeBufferPointer { [UInt8]($0) }
    }

    /// Returns the bytes in `range` as text, with replacement characters for invalid UTF-8.
    func text(_ range: Range<Int>) -> String {
        extracting(range).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }
}

/// The characters of the grammar.
enum Octet {
    static let tab: UInt8 = 0x09
    static let lineFeed: UInt8 = 0x0A
    static let carriageReturn: UInt8 = 0x0D
    static let space: UInt8 = 0x20

    /// Whether a byte is allowed in a field value: `field-vchar`, SP or HTAB (RFC 9110 §5.5).
    static func isFieldValue(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte != 0x7F || byte == tab
    }

    /// Whether a byte is SP or HTAB, the characters of `OWS` (RFC 9110 §5.6.3).
    static func isBlank(_ byte: UInt8) -> Bool { byte == space || byte == tab }
}
