import Primitives

/// Chunked content (RFC 9112 §7.1), assembled as it arrives.
struct ChunkedContent: Sendable {
    private enum Phase { case size, data, dataEnd, trailers, done }

    private var phase = Phase.size
    private var lines = LineScanner()
    /// The number of bytes of the current chunk that have not arrived.
    private var remaining = 0
    private var extensionBytes = 0
    /// The trailers, which are checked and counted like the fields of a head, and then dropped.
    ///
    /// RFC 9110 §6.5.1 lets a recipient drop them, and a trailer must not be mistaken for a field of the head.
    private var trailers = FieldLines()

    /// The content so far; empty when it is discarded.
    private(set) var bytes: [UInt8] = []
    /// The length of the chunks whose size has been read, in bytes.
    private var announcedCount = 0
    /// The longest content to discard as it arrives, in bytes; nil to collect the content.
    var discardedLengthMax: Int?

    /// The memory of the collected bytes, in bytes.
    var collectedByteCount: Int { bytes.capacity }

    /// Consumes the received part of the content, and returns whether the content is complete.
    ///
    /// Begins at `index`, which is moved past the consumed bytes.
    mutating func receive(
        _ bytes: Span<UInt8>,
        from index: inout Int,
        limits: HTTPLimits
    ) throws(HTTPError) -> Bool {
        while true {
            switch phase {
            case .size:
                let line = try lines.line(
                    in: bytes,
                    from: index,
                    lengthMax: 16 + limits.chunkExtensionBytesMax - extensionBytes,
                    tooLong: .chunkExtensionsTooLong(limit: limits.chunkExtensionBytesMax)
                )
                guard let line else { return false }
                index = line.upperBound + 2
                try begin(bytes.extracting(line), limits)
            case .data:
                let count = min(remaining, bytes.count - index)
                if discardedLengthMax == nil {
                    bytes.extracting(index..<index + count).withUnsafeBufferPointer {
                        self.bytes.append(contentsOf: $0)
                    }
                }
                index += count
                remaining -= count
                guard remaining == 0 else { return false }
                phase = .dataEnd
            case .dataEnd:
                guard index < bytes.count else { return false }
                guard bytes[index] == Octet.carriageReturn else { throw .chunkUnterminated }
                guard index + 1 < bytes.count else { return false }
                guard bytes[index + 1] == Octet.lineFeed else { throw .chunkUnterminated }
                index += 2
                phase = .size
            case .trailers:
                let line = try lines.line(
                    in: bytes,
                    from: index,
                    lengthMax: trailers.remaining(limits),
                    tooLong: .fieldsTooLong(limit: limits.fieldBytesMax)
                )
                guard let line else { return false }
                index = line.upperBound + 2
                if line.isEmpty {
                    phase = .done
                } else {
                    _ = try trailers.read(bytes, line, limits: limits)
                }
            case .done: return true
            }
        }
    }

    /// Reads `chunk-size [chunk-ext]`.
    private mutating func begin(_ line: Span<UInt8>, _ limits: HTTPLimits) throws(HTTPError) {
        let lengthMax = min(discardedLengthMax ?? .max, limits.bodyLengthMax)
        var size = 0
        var index = 0
        while index < line.count, let digit = line[index].hexValue {
            guard index < 16, size <= Int.max >> 4 else {
                throw .contentTooLong(length: nil, limit: lengthMax)
            }
            size = size << 4 | Int(digit)
            index += 1
        }
        guard index > 0 else { throw .chunkMalformed }
        try Self.checkExtensions(line.extracting(index..<line.count))
        extensionBytes += line.count - index
        guard extensionBytes <= limits.chunkExtensionBytesMax else {
            throw .chunkExtensionsTooLong(limit: limits.chunkExtensionBytesMax)
        }
        guard size <= lengthMax - announcedCount else {
            throw .contentTooLong(length: nil, limit: lengthMax)
        }
        announcedCount += size
        remaining = size
        phase = size > 0 ? .data : .trailers
    }

    /// Checks `*( BWS ";" BWS name [ BWS "=" BWS ( token / quoted-string ) ] )` (RFC 9112 §7.1.1).
    private static func checkExtensions(_ text: Span<UInt8>) throws(HTTPError) {
        var index = 0
        func skipBlanks() {
            while index < text.count, Octet.isBlank(text[index]) { index += 1 }
        }
        func skipToken() -> Bool {
            let start = index
            while index < text.count, OctetSet.token.contains(text[index]) { index += 1 }
            return index > start
        }
        while index < text.count {
            skipBlanks()
            guard index < text.count, text[index] == UInt8(ascii: ";") else {
                throw .chunkMalformed
            }
            index += 1
            skipBlanks()
            guard skipToken() else { throw .chunkMalformed }
            let nameEnd = index
            skipBlanks()
            guard index < text.count, text[index] == UInt8(ascii: "=") else {
                // Blanks belong to the next extension, so one must follow.
                index = nameEnd
                continue
            }
            index += 1
            skipBlanks()
            guard index < text.count, text[index] == UInt8(ascii: "\"") else {
                guard skipToken() else { throw .chunkMalformed }
                continue
            }
            index += 1
            while index < text.count, text[index] != UInt8(ascii: "\"") {
                if text[index] == UInt8(ascii: "\\") { index += 1 }
                guard index < text.count, Octet.isFieldValue(text[index]) else {
                    throw .chunkMalformed
                }
                index += 1
            }
            guard index < text.count else { throw .chunkMalformed }
            index += 1
        }
    }
}

/// Content with an announced length (RFC 9112 §6.2), assembled as it arrives.
struct FixedContent: Sendable {
    private var remaining: Int
    private var collected: [UInt8] = []
    /// Whether the bytes are discarded as they arrive.
    var isDiscarded = false

    /// Makes content of `length` bytes, none of which have arrived.
    init(length: Int = 0) { remaining = length }

    /// The memory of the collected bytes, in bytes.
    var collectedByteCount: Int { collected.capacity }

    /// Consumes the received part of the content.
    ///
    /// - Parameters:
    ///   - bytes: The received bytes that were not consumed.
    ///   - index: Where to continue; moved past the consumed bytes.
    /// - Returns: The content once it is complete, without a copy if all of it is in `bytes`; empty if it is discarded;
    ///   `nil` until then.
    mutating func receive(_ bytes: Span<UInt8>, from index: inout Int) -> Content? {
        let range = index..<index + min(remaining, bytes.count - index)
        index = range.upperBound
        if isDiscarded {
            remaining -= range.count
            return remaining == 0 ? Content(.borrowed(index..<index)) : nil
        }
        if range.count == remaining, collected.isEmpty {
            remaining = 0
            return Content(.borrowed(range))
        }
        // No capacity is reserved for the announced length: memory grows with the bytes that arrive.
        bytes.extracting(range).withUnsafeBufferPointer { collected.append(contentsOf: $0) }
        remaining -= range.count
        guard remaining == 0 else { return nil }
        return Content(.collected(exchange(&collected, with: [])))
    }
}
