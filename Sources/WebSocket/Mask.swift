/// The masking of a client's payload (RFC 6455 §5.3): an exclusive or with a key of four bytes.
///
/// A key is a `UInt32` whose most significant byte masks the first byte. Masking twice with the same key restores the
/// bytes.
public enum Mask {
    /// Masks or unmasks bytes in place, eight at a time.
    ///
    /// - Parameters:
    ///   - key: The key, already ``rotated(_:by:)`` if the range begins inside a payload.
    ///   - bytes: The bytes to change.
    ///   - range: The range to change, within `bytes`.
    public static func apply(
        _ key: UInt32,
        to bytes: inout MutableSpan<UInt8>,
        in range: Range<Int>
    ) {
        precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count)
        // In memory order, so that whole words can be combined on any machine.
        let ordered = UInt64(key.bigEndian)
        let word = ordered << 32 | ordered
        bytes.withUnsafeMutableBytes { buffer in
            var offset = range.lowerBound
            // SAFETY: the precondition keeps every access inside the span's storage.
            while range.upperBound - offset >= 8 {
                let masked = buffer.loadUnaligned(fromByteOffset: offset, as: UInt64.self) ^ word
                buffer.storeBytes(of: masked, toByteOffset: offset, as: UInt64.self)
                offset += 8
            }
            // A word of eight bytes is twice the key's length, so it does not change the key's phase.
            var rest = key
            while offset < range.upperBound {
                rest = rotated(rest, by: 1)
                buffer[offset] ^= UInt8(truncatingIfNeeded: rest)
                offset += 1
            }
        }
    }

    /// Returns the key for the rest of a payload after its first `count` bytes.
    public static func rotated(_ key: UInt32, by count: Int) -> UInt32 {
        let bits = UInt32(truncatingIfNeeded: count & 3) * 8
        return bits == 0 ? key : key << bits | key >> (32 - bits)
    }
}
