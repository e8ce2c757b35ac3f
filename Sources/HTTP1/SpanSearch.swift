#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

extension Span<UInt8> {
    /// The place of the first such byte at or behind `start`; nil when there is none.
    func firstIndex(of byte: UInt8, from start: Int) -> Int? {
        guard start < count else { return nil }
        return withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return nil }
            // SAFETY: `start` lies inside the span, and so does the length that is left of it.
            return memchr(base + start, Int32(byte), bytes.count - start).map {
                $0 - UnsafeMutableRawPointer(mutating: base)
            }
        }
    }

    /// Whether no byte is a wrong one, eight at a time.
    ///
    /// - Parameter wrong: Marks the wrong ones of eight octets.
    /// - Returns: Whether nothing was marked.
    @inline(__always)
    func holdsOnly(allBut wrong: (EightOctets) -> EightOctets.Marks) -> Bool {
        var index = 0
        while index + 8 <= count {
            // SAFETY: eight bytes from `index` on lie inside the span, as the condition says.
            let word = bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self)
            guard wrong(EightOctets(word)) == 0 else { return false }
            index += 8
        }
        guard index < count else { return true }
        // The last ones, filled up with the very last.
        var word: UInt64 = 0
        for place in index..<index + 8 {
            word = word << 8 | UInt64(self[Swift.min(place, count - 1)])
        }
        return wrong(EightOctets(word)) == 0
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
