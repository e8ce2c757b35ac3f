import CZlib

/// Decompresses messages (RFC 7692 §7.2.2), fragment by fragment and within a limit.
///
/// zlib allocates about 7 KiB at the first compressed message, and another `2^windowBits` bytes once a message has to
/// be kept in the window. If a peer refers to bytes beyond its window, decompression fails only once zlib no longer has
/// them.
final class Inflater {
    private let windowBits: Int32
    /// zlib keeps the address, so the state must not move.
    private var stream: UnsafeMutablePointer<z_stream>?

    /// Makes a decompressor; zlib's memory is allocated at the first message.
    ///
    /// - Parameter windowBits: The logarithm of the window size, 8 to 15.
    init(windowBits: Int) {
        precondition(8...15 ~= windowBits)
        self.windowBits = Int32(windowBits)
    }

    deinit { release() }

    /// Returns zlib's memory for a window size, in bytes.
    static func memorySize(windowBits: Int) -> Int { 7 << 10 + 1 << windowBits }

    /// Inflates the next part of a message.
    ///
    /// - Parameters:
    ///   - compressed: A part of the message's payload, of any length.
    ///   - output: The array to append to.
    ///   - limit: The maximum number of bytes in `output`; zlib never produces more than one additional byte.
    /// - Returns: `corruptCompression`, or `messageTooLong` at the first byte over the limit, when `output` has the
    ///   bytes before it. `nil` for no error.
    func inflate(
        _ compressed: Span<UInt8>,
        into output: inout [UInt8],
        limit: Int
    ) -> WebSocketError? {
        compressed.withUnsafeBufferPointer { input in
            var offset = 0
            while offset < input.count {
                // zlib counts in 32 bits.
                let count = min(input.count - offset, 1 << 30)
                let piece = UnsafeBufferPointer(rebasing: input[offset..<offset + count])
                if let failure = run(piece, into: &output, limit: limit) { return failure }
                offset += count
            }
            return nil
        }
    }

    /// Ends a non-empty message, and appends its last bytes.
    ///
    /// - Parameters:
    ///   - output: The array to append to.
    ///   - limit: The maximum number of bytes in `output`.
    /// - Returns: `corruptCompression` if the data end inside a block, `messageTooLong`, or `nil` for no error.
    func finish(into output: inout [UInt8], limit: Int) -> WebSocketError? {
        // §7.2.2: the sender removed the empty stored block that ends its flush.
        let tail: [UInt8] = [0x00, 0x00, 0xFF, 0xFF]
        if let failure = inflate(tail.span, into: &output, limit: limit) { return failure }
        // zlib's data_type: 128 between two blocks, plus the bits of the last byte not yet used.
        let isBetweenBlocks = stream.map { $0.pointee.data_type & (128 | 31) == 128 } ?? false
        return isBetweenBlocks ? nil : .corruptCompression
    }

    /// Clears the window and frees zlib's memory.
    func release() {
        guard let stream else { return }
        inflateEnd(stream)
        stream.deinitialize(count: 1)
        stream.deallocate()
        self.stream = nil
    }

    private func openStream() -> UnsafeMutablePointer<z_stream> {
        if let stream { return stream }
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let status = shim_inflateInit2(stream, -windowBits)
        precondition(status == Z_OK, "inflateInit2 failed with \(status)")
        self.stream = stream
        return stream
    }

    private func run(
        _ input: UnsafeBufferPointer<UInt8>,
        into output: inout [UInt8],
        limit: Int
    ) -> WebSocketError? {
        let stream = openStream()
        // SAFETY: zlib only reads through next_in, and not after this call.
        stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
        stream.pointee.avail_in = UInt32(input.count)
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 16384) { chunk in
            repeat {
                // One byte more than the limit, so that exceeding it is detected.
                let room = limit - output.count
                stream.pointee.next_out = chunk.baseAddress
                stream.pointee.avail_out = UInt32(room < chunk.count ? room + 1 : chunk.count)
                let offered = stream.pointee.avail_out
                let status = CZlib.inflate(stream, Z_SYNC_FLUSH)
                let count = Int(offered - stream.pointee.avail_out)
                output.append(contentsOf: chunk[..<min(count, room)])
                guard count <= room else { return .messageTooLong(limit: limit) }
                switch status {
                case Z_OK: break
                case Z_BUF_ERROR:
                    // No progress was possible: all input is consumed and all output is written.
                    return nil
                case Z_STREAM_END:
                    // §7.2.3.4: a final block may end the stream inside a message; the rest
                    // is a new one, which still refers to the window.
                    inflateResetKeep(stream)
                default: return .corruptCompression
                }
            } while stream.pointee.avail_in > 0 || stream.pointee.avail_out == 0
            return nil
        }
    }
}
