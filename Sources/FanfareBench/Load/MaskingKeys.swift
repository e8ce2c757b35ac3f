import Net

/// The random numbers of all clients: masking keys (RFC 6455 §5.3) and nonces.
///
/// A system call for each would be a part of what is measured.
final class MaskingKeys {
    private var random = RandomPool()

    /// A new masking key.
    func next() -> UInt32 { UInt32(truncatingIfNeeded: random.next()) }

    /// 16 bytes for an opening handshake.
    func nonce() -> [UInt8] {
        var bits = SIMD2(random.next(), random.next())
        return withUnsafeBytes(of: &bits) { Array($0) }
    }
}
