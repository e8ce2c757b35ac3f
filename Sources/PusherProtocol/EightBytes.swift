/// Eight bytes of a text in one word, compared all at once.
///
/// A mark is the highest bit of a byte's place. No borrow or carry leaves its byte, so each mark is exact.
struct EightBytes {
    /// One bit for each of eight bytes, that of the first lowest.
    typealias Marks = UInt64

    private static var ones: UInt64 { 0x0101_0101_0101_0101 }
    private static var highBits: UInt64 { 0x8080_8080_8080_8080 }
    private let word: UInt64

    /// Takes a word whose lowest byte is the first.
    init(_ word: UInt64) { self.word = word }

    /// Marks the bytes with the value `byte`.
    func equal(to byte: UInt8) -> Marks {
        let difference = word ^ Self.ones &* UInt64(byte)
        let isNonzero = ((difference & ~Self.highBits) &+ ~Self.highBits) | difference
        return ~isNonzero & Self.highBits
    }

    /// Marks the bytes less than `byte`, which is 128 at most.
    func less(than byte: UInt8) -> Marks {
        ~((word | Self.highBits) &- Self.ones &* UInt64(byte)) & ~word & Self.highBits
    }

    /// Marks the bytes that are not ASCII.
    var notASCII: Marks { word & Self.highBits }

    /// Marks what a JSON string may not hold as it is (RFC 8259 §7).
    var escaped: Marks {
        less(than: 0x20) | equal(to: UInt8(ascii: "\"")) | equal(to: UInt8(ascii: "\\"))
    }
}

extension Span<UInt8> {
    /// Returns the index of the first byte at or behind `start` that is marked, or the count when none is.
    ///
    /// - Parameters:
    ///   - start: Where to start.
    ///   - marks: Marks what is looked for, eight bytes at a time.
    @inline(__always)
    func firstIndex(from start: Int, marked marks: (EightBytes) -> EightBytes.Marks) -> Int {
        var index = start
        while index + 8 <= count {
            // SAFETY: eight bytes from `index` on lie inside the span, as the condition says.
            let word = bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self)
            let found = marks(EightBytes(UInt64(littleEndian: word)))
            if found != 0 { return index + found.trailingZeroBitCount / 8 }
            index += 8
        }
        var word: UInt64 = 0
        for place in (index..<Swift.max(index, count)).reversed() {
            word = word << 8 | UInt64(self[place])
        }
        // A mark behind the end, or none at all, is one at the end.
        return Swift.min(index + marks(EightBytes(word)).trailingZeroBitCount / 8, count)
    }
}
