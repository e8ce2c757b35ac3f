import Primitives

/// Content in chunks (RFC 9112 §7.1), put together as it arrives.
struct ChunkedContent: Sendable {
    private enum Phase { case size, data, dataEnd, trailers, done }

    private var phase = Phase.size
    private var lines = LineScanner()
    /// Bytes of the current chunk that are to come.
    private var remaining = 0
    private var extensionBytes = 0
    /// Checked and counted as the fields of a head are, then dropped: RFC 9110 §6.5.1 lets a
    /// recipient do so, and a trailer must not be taken for a field of the head.
    private var trailers = FieldLines()

    /// The content so far; empty when it is discarded.
    private(set) var bytes: [UInt8] = []
    /// The length of the chunks whose size has been read, in bytes.
    private var announcedCount = 0
    /// The longest content to drop as it arrives, in bytes; nil to collect it.
    var discardedLengthMax: Int?

    /// The memory that the bytes collected so far take, in bytes.
    var collectedByteCount: Int { bytes.capacity }

    /// Takes what it can from `bytes`.
    ///
    /// It begins at `index`, and leaves it behind what was taken. It is true when the content is
    /// complete.
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
                // Blanks belong to the next extension, which must be there.
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
