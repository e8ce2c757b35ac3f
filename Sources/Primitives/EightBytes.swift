/// Eight bytes of a text in one word, compared in parallel.
///
/// A mark is the highest bit of a byte's lane. No borrow or carry crosses lanes, so each mark is exact.
public struct EightBytes {
    /// One bit for each of eight bytes; the first byte's bit is the lowest.
    public typealias Marks = UInt64

    @inlinable
    static var ones: UInt64 { 0x0101_0101_0101_0101 }
    @inlinable
    static var highBits: UInt64 { 0x8080_8080_8080_8080 }
    @usableFromInline let word: UInt64

    /// Makes eight bytes of a word whose lowest byte is the first.
    @inlinable
    public init(_ word: UInt64) { self.word = word }

    /// Marks the bytes with the value `byte`.
    @inlinable
    public func equal(to byte: UInt8) -> Marks {
        let difference = word ^ Self.ones &* UInt64(byte)
        let isNonzero = ((difference & ~Self.highBits) &+ ~Self.highBits) | difference
        return ~isNonzero & Self.highBits
    }

    /// Marks the bytes less than `byte`, which is at most 128.
    @inlinable
    public func less(than byte: UInt8) -> Marks {
        ~((word | Self.highBits) &- Self.ones &* UInt64(byte)) & ~word & Self.highBits
    }

    /// Marks the bytes that are not ASCII.
    @inlinable
    public var notASCII: Marks { word & Self.highBits }

    /// Marks the ASCII upper-case letters.
    @inlinable
    public var capital: Marks { less(than: UInt8(ascii: "Z") + 1) & ~less(than: UInt8(ascii: "A")) }

    /// Marks the bytes that have to be escaped in a JSON string (RFC 8259 §7).
    @inlinable
    public var escaped: Marks {
        less(than: 0x20) | equal(to: UInt8(ascii: "\"")) | equal(to: UInt8(ascii: "\\"))
    }
}

extension Span<UInt8> {
    /// Searches eight bytes at a time for the first byte at or after `start` that `marks` marks; returns the count if
    /// there is none.
    @inlinable @inline(__always)
    public func firstIndex(from start: Int, marked marks: (EightBytes) -> EightBytes.Marks) -> Int {
        var index = start
        while index + 8 <= count {
            let found = marks(EightBytes(word(at: index)))
            if found != 0 { return index + found.trailingZeroBitCount / 8 }
            index += 8
        }
        // The last bytes, padded with zeros: a mark in the padding, or none, means the end.
        var last: UInt64 = 0
        if count >= 8 {
            last = word(at: count - 8) >> (8 * (index + 8 - count))
        } else {
            for place in (index..<count).reversed() { last = last << 8 | UInt64(self[place]) }
        }
        return Swift.min(index + marks(EightBytes(last)).trailingZeroBitCount / 8, count)
    }

    @inlinable
    func word(at index: Int) -> UInt64 {
        precondition(index >= 0 && index <= count - 8)
        // SAFETY: eight bytes from `index` on are inside the span, as was just checked.
        let word = bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self)
        return UInt64(littleEndian: word)
    }
}
