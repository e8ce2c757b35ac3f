/// Finds lines that end in CRLF, and looks at no byte twice when a line comes in pieces.
///
/// Bytes that hold no whole line stay with the caller, who gives them again with what follows.
struct LineScanner: Sendable {
    /// Bytes at the beginning of the current line that are known to hold no line feed.
    private var searched = 0

    /// Finds the line that begins at `start`.
    ///
    /// - Parameters:
    ///   - bytes: What has been received and not consumed.
    ///   - start: Where the line begins in `bytes`; the same line each time until it is returned.
    ///   - lengthMax: The longest line to accept, in bytes without its ending.
    ///   - tooLong: What to throw beyond `lengthMax`, as soon as it is certain.
    /// - Returns: The line without CRLF, which the next one follows two bytes later; nil when
    ///   more bytes are needed.
    /// - Throws: `tooLong`, or `.bareLineFeed`: RFC 9112 §2.2 lets a recipient accept a lone LF,
    ///   but two readers who disagree about where a line ends can be played off against each other.
    mutating func line(
        in bytes: Span<UInt8>,
        from start: Int,
        lengthMax: Int,
        tooLong: HTTPError
    ) throws(HTTPError) -> Range<Int>? {
        guard let end = bytes.firstIndex(of: Octet.lineFeed, from: start + searched) else {
            searched = bytes.count - start
            // The last byte may be the CR of the ending.
            if searched - 1 > lengthMax { throw tooLong }
            return nil
        }
        searched = 0
        if end - 1 - start > lengthMax { throw tooLong }
        guard end > start, bytes[end - 1] == Octet.carriageReturn else { throw .bareLineFeed }
        return start..<end - 1
    }
}

extension Span<UInt8> {
    /// The first place at or after `start` that holds `byte`, searched by word.
    func firstIndex(of byte: UInt8, from start: Int) -> Int? {
        var index = start
        let pattern = UInt64(byte) &* 0x0101_0101_0101_0101
        while index + 8 <= count {
            // SAFETY: eight bytes from `index` on lie inside the span, as the condition says.
            let word = self.bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self)
            let difference = UInt64(littleEndian: word) ^ pattern
            let zeros =
                (difference &- 0x0101_0101_0101_0101) & ~difference & 0x8080_8080_8080_8080
            // The lowest mark is exact; above it a borrow may have left false ones.
            if zeros != 0 { return index + zeros.trailingZeroBitCount / 8 }
            index += 8
        }
        while index < count {
            if self[index] == byte { return index }
            index += 1
        }
        return nil
    }

    /// Whether every byte satisfies `isAllowed`.
    ///
    /// It looks at all of them, whatever it finds, so that the compiler can test sixteen at once.
    @inline(__always)
    func holdsOnly(_ isAllowed: (UInt8) -> Bool) -> Bool {
        var violations: UInt8 = 0
        withUnsafeBufferPointer { bytes in
            for byte in bytes { violations |= isAllowed(byte) ? 0 : 1 }
        }
        return violations == 0
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
