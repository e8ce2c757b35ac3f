import Primitives

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
        tooLong: @autoclosure () -> HTTPError
    ) throws(HTTPError) -> Range<Int>? {
        guard let end = bytes.firstIndex(of: Octet.lineFeed, from: start + searched) else {
            searched = bytes.count - start
            // The last byte may be the CR of the ending.
            if searched - 1 > lengthMax { throw tooLong() }
            return nil
        }
        searched = 0
        if end - 1 - start > lengthMax { throw tooLong() }
        guard end > start, bytes[end - 1] == Octet.carriageReturn else { throw .bareLineFeed }
        return start..<end - 1
    }
}
