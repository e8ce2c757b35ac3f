/// Content whose length was announced, as far as it has come (RFC 9112 §6.2).
struct FixedContent: Sendable {
    private var remaining: Int
    private var collected: [UInt8] = []

    /// Awaits `length` bytes.
    init(length: Int = 0) { remaining = length }

    /// Takes in what has come.
    ///
    /// - Parameters:
    ///   - bytes: What has been received and not consumed.
    ///   - index: Where to read on; left behind what was consumed.
    /// - Returns: The content once it is whole, lent when it lies whole in `bytes`; else `nil`.
    mutating func receive(_ bytes: Span<UInt8>, from index: inout Int) -> Content? {
        let range = index..<index + min(remaining, bytes.count - index)
        index = range.upperBound
        if range.count == remaining, collected.isEmpty {
            remaining = 0
            return Content(.lent(range))
        }
        // Not reserved by what was announced: memory follows what has really come.
        bytes.extracting(range).withUnsafeBufferPointer { collected.append(contentsOf: $0) }
        remaining -= range.count
        guard remaining == 0 else { return nil }
        return Content(.collected(exchange(&collected, with: [])))
    }
}
