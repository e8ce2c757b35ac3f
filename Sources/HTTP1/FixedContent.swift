/// Content whose length was announced, as far as it has come (RFC 9112 §6.2).
struct FixedContent: Sendable {
    private var remaining: Int
    private var collected: [UInt8] = []
    /// Whether the bytes are dropped as they arrive.
    var isDiscarded = false

    /// Awaits `length` bytes.
    init(length: Int = 0) { remaining = length }

    /// The memory that the bytes collected so far take, in bytes.
    var collectedByteCount: Int { collected.capacity }

    /// Takes in what has come.
    ///
    /// - Parameters:
    ///   - bytes: What has been received and not consumed.
    ///   - index: Where to read on; left behind what was consumed.
    /// - Returns: The content once it is whole, lent when it lies whole in `bytes`; empty when it is discarded; else `nil`.
    mutating func receive(_ bytes: Span<UInt8>, from index: inout Int) -> Content? {
        let range = index..<index + min(remaining, bytes.count - index)
        index = range.upperBound
        if isDiscarded {
            remaining -= range.count
            return remaining == 0 ? Content(.lent(index..<index)) : nil
        }
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
