import CZlib

/// The gzip format (RFC 1952).
enum Gzip {
    /// Compresses a file as far as zlib can.
    static func compress(_ bytes: [UInt8]) -> [UInt8] {
        var stream = z_stream()
        // zlib keeps the address of the state.
        return withUnsafeMutablePointer(to: &stream) { stream in
            // 16 beside the window's 15 bits: with the header and the trailer of gzip.
            let status = shim_deflateInit2(stream, 9, 15 + 16, 9)
            precondition(status == Z_OK, "zlib refused to compress: \(status)")
            defer { deflateEnd(stream) }
            let bound = Int(deflateBound(stream, UInt(bytes.count)))
            return bytes.withUnsafeBufferPointer { input in
                [UInt8](unsafeUninitializedCapacity: bound) { output, count in
                    // SAFETY: zlib only reads through next_in, and neither pointer outlives this closure.
                    stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
                    stream.pointee.avail_in = UInt32(input.count)
                    stream.pointee.next_out = output.baseAddress
                    stream.pointee.avail_out = UInt32(bound)
                    let end = deflate(stream, Z_FINISH)
                    precondition(end == Z_STREAM_END, "deflateBound is enough for all")
                    count = bound - Int(stream.pointee.avail_out)
                }
            }
        }
    }
}
