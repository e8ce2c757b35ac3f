import PusherProtocol

/// How much of a session goes into one streaming response.
///
/// A client leaves a response by itself once it has read more than 262,144 characters of it and is at the end of a line,
/// and requests the next one. What is written after that line would be lost.
struct ResponseLength {
    /// The number of bytes after which a client leaves a response, at the next line end.
    static let max = 262_144

    private var left = Self.max + 1
    /// Whether the last byte is not the end of a line.
    private var isInLine = false

    /// Returns how many of the next bytes belong to the response, from the first.
    func portion(of bytes: UnsafeRawBufferPointer) -> Int {
        guard left > 0 || isInLine else { return 0 }
        guard bytes.count >= left else { return bytes.count }
        let end = bytes[Swift.max(0, left - 1)...].firstIndex(of: SessionLines.lineFeed)
        return end.map { $0 + 1 } ?? bytes.count
    }

    /// Counts bytes that were sent.
    mutating func count(_ bytes: UnsafeRawBufferPointer) {
        guard let last = bytes.last else { return }
        left = Swift.max(0, left - bytes.count)
        isInLine = last != SessionLines.lineFeed
    }
}
