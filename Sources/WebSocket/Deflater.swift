import CZlib

/// Compresses messages (RFC 7692 §7.2.1).
///
/// zlib takes about `2^(windowBits + 2) + 2^(memoryLevel + 9)` bytes, from the first message until ``release()``: 256
/// KiB with the largest window, 8 KiB with window 9 and memory level 1.
///
/// A server may compress an event once and share the frame among all peers that agreed to a window at least as large.
/// Then every message to those peers must be compressed after a ``reset()``.
public final class Deflater {
    private let windowBits: Int32
    private let level: Int32
    private let memoryLevel: Int32
    /// zlib keeps the address, so the state must not move.
    private var stream: UnsafeMutablePointer<z_stream>?

    /// Makes a compressor; zlib's memory is allocated at the first message.
    ///
    /// - Parameters:
    ///   - windowBits: The logarithm of the window size, 8 to 15.
    ///   - level: 1 (fast) to 9 (small).
    ///   - memoryLevel: 1 (small) to 9 (fast).
    public init(windowBits: Int = 15, level: Int = 6, memoryLevel: Int = 8) {
        precondition(8...15 ~= windowBits && 1...9 ~= level && 1...9 ~= memoryLevel)
        // Without its own header zlib refuses 8, because it would use 9. But with 9 its matches
        // reach back at most 250 bytes (2^9 - MIN_LOOKAHEAD of 262), so the output is valid for 8 bits.
        self.windowBits = Int32(max(windowBits, 9))
        self.level = Int32(level)
        self.memoryLevel = Int32(memoryLevel)
    }

    deinit { release() }

    /// Compresses one message of any length, which may refer to earlier ones.
    ///
    /// - Parameter message: The payload.
    /// - Returns: The payload of a frame whose `isCompressed` is true.
    public func deflate(_ message: Span<UInt8>) -> [UInt8] {
        // §7.2.3.6. zlib would emit nothing for a second consecutive empty message.
        guard !message.isEmpty else { return [0x00] }
        let stream = openStream()
        // zlib counts in 32 bits; deflateBound is the worst case, plus the flush below.
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
        // §7.2.1: the sender removes the empty stored block of the flush; the receiver appends it again.
        compressed.removeLast(4)
        return compressed
    }

    /// Clears the window, so that the next message refers to no earlier one; keeps zlib's memory.
    public func reset() {
        if let stream { deflateReset(stream) }
    }

    /// Clears the window and frees zlib's memory.
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

    /// Runs zlib until all input is consumed, growing the output as needed.
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

/// Compresses a message once for many endpoints of a server (RFC 7692).
///
/// The endpoints must have agreed on the same window for the server's messages and on `server_no_context_takeover`
/// (§7.1.1.1). Then the same bytes are valid for each of them, whatever else it has received; see
/// ``WebSocketEndpoint/sharedWindowBits``.
public final class SharedDeflater {
    private let deflater: Deflater
    private let threshold: Int

    /// Makes a compressor.
    ///
    /// Its memory, about 256 KiB, is allocated at the first message and kept.
    ///
    /// - Parameters:
    ///   - windowBits: The window of the endpoints, 8 to 15.
    ///   - options: The options; only the level, the memory level and the threshold are used.
    public init(windowBits: Int, options: DeflateOptions) {
        deflater = Deflater(
            windowBits: windowBits,
            level: options.level,
            memoryLevel: options.memoryLevel
        )
        threshold = options.compressionThreshold
    }

    /// Returns a text frame with the compressed message, given as a complete payload in UTF-8.
    ///
    /// - Returns: `nil` when it is better to send it uncompressed (§6: the sender may choose).
    public func textFrame(_ message: Span<UInt8>) -> [UInt8]? {
        guard message.count >= threshold, !message.isEmpty else { return nil }
        let compressed = deflater.deflate(message)
        deflater.reset()
        guard compressed.count < message.count else { return nil }
        return FrameEncoder.frame(.text, isCompressed: true, payload: compressed.span)
    }
}
