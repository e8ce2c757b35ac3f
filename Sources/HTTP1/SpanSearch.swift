import Primitives

extension Span<UInt8> {
    /// Where the first byte lies in `range` that is not of a set; its end when all are.
    @inline(__always)
    func end(of set: OctetSet, in range: Range<Int>) -> Int {
        extracting(range).withUnsafeBufferPointer { bytes in
            // Letters are in every set, and mostly it is letters.
            let count =
                bytes.firstIndex { !$0.isLetter && !set.contains($0) } ?? bytes.count
            return range.lowerBound + count
        }
    }

    // The next two are loops without a branch, of which the compiler makes one over 16 bytes at a time.

    /// Whether a request target may hold all bytes (RFC 9112 §3.2): visible ASCII without `#`, `"`,
    /// `<` and `>`.
    ///
    /// RFC 3986 also excludes `[ ] \ ^ { | }` and the back-tick, but browsers send these as they are
    /// in a query (WHATWG URL), and none can be mistaken for the end of the target.
    var isTarget: Bool {
        var lowest = UInt8.max
        var highest = UInt8.min
        // Zero at a refused one: `"` and `#` differ in one bit, `<` and `>` in another.
        var nearest = UInt8.max
        for index in indices {
            let byte = self[index]
            lowest = Swift.min(lowest, byte)
            highest = Swift.max(highest, byte)
            nearest = Swift.min(nearest, byte & ~0x01 ^ 0x22, byte & ~0x02 ^ 0x3C)
        }
        return lowest > 0x20 && highest < 0x7F && nearest > 0
    }

    /// Whether a field value may hold all bytes: see ``Octet/isFieldValue(_:)``.
    var isFieldValue: Bool {
        var lowest = UInt8.max
        var nearest = UInt8.max
        for index in indices {
            lowest = Swift.min(lowest, self[index])
            nearest = Swift.min(nearest, self[index] ^ 0x7F)
        }
        if lowest >= 0x20, nearest > 0 { return true }
        // Usually there is no tab either.
        return indices.allSatisfy { Octet.isFieldValue(self[$0]) }
    }

    /// A copy of the bytes in `range`.
    func copy(_ range: Range<Int>) -> [UInt8] {
        extracting(range).withUnsafeBufferPointer { [UInt8]($0) }
    }

    /// The bytes in `range` as text, with replacement characters for what is not UTF-8.
    func text(_ range: Range<Int>) -> String {
        extracting(range).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }
}
