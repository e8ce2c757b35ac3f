import Primitives

/// Finds lines that end in CRLF; searches each byte once even if a line arrives in pieces.
///
/// The caller keeps the bytes of an incomplete line and passes them again with the following ones.
struct LineScanner: Sendable {
    /// The number of bytes at the beginning of the current line that are known to contain no line feed.
    private var searched = 0

    /// Finds the line that begins at `start`.
    ///
    /// - Parameters:
    ///   - bytes: The received bytes that were not consumed.
    ///   - start: The line's first index in `bytes`; the same line each time until it is returned.
    ///   - lengthMax: The longest line to accept, in bytes without its ending.
    ///   - tooLong: Makes the error to throw as soon as the line is longer than `lengthMax`.
    /// - Returns: The line without CRLF; the next line begins two bytes after it. Nil if more bytes are needed.
    /// - Throws: `tooLong`, or `.bareLineFeed`. RFC 9112 §2.2 lets a recipient accept a bare LF, but recipients that
    ///   disagree about line endings enable request smuggling.
    mutating func line(
        in bytes: Span<UInt8>,
        from start: Int,
        lengthMax: Int,
        tooLong: @autoclosure () -> HTTPError
    ) throws(HTTPError) -> Range<Int>? {
        guard let end = bytes.firstIndex(of: Octet.lineFeed, from: start + searched) else {
            searched = bytes.count - start
            // The last byte may be the CR of the line ending.
            if searched - 1 > lengthMax { throw tooLong() }
            return nil
        }
        searched = 0
        if end - 1 - start > lengthMax { throw tooLong() }
        guard end > start, bytes[end - 1] == Octet.carriageReturn else { throw .bareLineFeed }
        return start..<end - 1
    }
}
