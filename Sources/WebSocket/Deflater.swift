import CZlib

/// Compresses messages (RFC 7692 §7.2.1).
///
/// zlib takes about `2^(windowBits + 2) + 2^(memoryLevel + 9)` bytes, at the first message and until
/// ``release()``: 256 KiB with the largest window, 8 KiB with window 9 and memory level 1.
///
/// A server may compress an event once and share the frame with every peer that agreed to a window
/// at least as large, as long as all that those peers get was compressed after a ``reset()``.
public final class Deflater {
    private let windowBits: Int32
    private let level: Int32
    private let memoryLevel: Int32
    /// zlib keeps the address, so the state must not move.
    private var stream: UnsafeMutablePointer<z_stream>?

    /// A compressor that holds no memory yet.
    ///
    /// - Parameters:
    ///   - windowBits: Logarithm of how far back a match may reach, 8 to 15.
    ///   - level: 1 (fast) to 9 (small).
    ///   - memoryLevel: 1 (small) to 9 (fast).
    public init(windowBits: Int = 15, level: Int = 6, memoryLevel: Int = 8) {
        precondition(8...15 ~= windowBits && 1...9 ~= level && 1...9 ~= memoryLevel)
        // zlib refuses 8 without its own header, because it would use 9. But with 9 its matches
        // reach back 250 bytes at most (2^9 less MIN_LOOKAHEAD of 262): a window of 8 bits serves.
        self.windowBits = Int32(max(windowBits, 9))
        self.level = Int32(level)
        self.memoryLevel = Int32(memoryLevel)
    }

    deinit { release() }

    /// Compresses one message, which may refer to those before it.
    ///
    /// - Parameter message: The payload, of any length.
    /// - Returns: The payload of a frame whose `isCompressed` is true.
    public func deflate(_ message: Span<UInt8>) -> [UInt8] {
        // §7.2.3.6. zlib would emit nothing at all for a second empty message in a row.
        guard !message.isEmpty else { return [0x00] }
        let stream = openStream()
        // zlib counts in 32 bits and deflateBound knows the worst case, flush included below.
        var compressed: [UInt8] = []
        message.withUnsafeBufferPointer { input in
            var offset = 0
            repeat {
                let count = min(input.count - offset, 1 << 30)
                let isLast = offset + count == input.count
                // SAFETY: zlib only reads through next_in, and not after this closure.
                stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)?
                    .advanced(by: offset)
                stream.pointee.avail_in = UInt32(count)
                run(stream, flush: isLast ? Z_SYNC_FLUSH : Z_NO_FLUSH, into: &compressed)
                offset += count
            } while offset < input.count
        }
        // §7.2.1: the empty stored block of the flush is cut; the receiver puts it back.
        compressed.removeLast(4)
        return compressed
    }

    /// Forgets all messages, so that the next refers to none of them; keeps zlib's memory.
    public func reset() {
        if let stream { deflateReset(stream) }
    }

    /// Forgets all messages and gives zlib's memory back.
    public func release() {
        guard let stream else { return }
        deflateEnd(stream)
        stream.deinitialize(count: 1)
        stream.deallocate()
        self.stream = nil
    }

    private func openStream() -> UnsafeMutablePointer<z_stream> {
        if let stream { return stream }
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let status = shim_deflateInit2(stream, level, -windowBits, memoryLevel)
        precondition(status == Z_OK, "deflateInit2 failed with \(status)")
        self.stream = stream
        return stream
    }

    /// Lets zlib take all its input, growing the output as it goes.
    private func run(
        _ stream: UnsafeMutablePointer<z_stream>,
        flush: Int32,
        into output: inout [UInt8]
    ) {
        let estimate = Int(stream.pointee.avail_in) / 4 + 64
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: min(estimate, 16384)) { chunk in
            repeat {
                stream.pointee.next_out = chunk.baseAddress
                stream.pointee.avail_out = UInt32(chunk.count)
                let status = CZlib.deflate(stream, flush)
                precondition(status == Z_OK || status == Z_BUF_ERROR, "deflate: \(status)")
                let count = chunk.count - Int(stream.pointee.avail_out)
                output.append(contentsOf: chunk[..<count])
            } while stream.pointee.avail_out == 0
        }
    }
}
