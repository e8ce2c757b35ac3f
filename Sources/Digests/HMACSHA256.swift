import Primitives

/// HMAC-SHA256 (RFC 2104) under one key, prepared once.
///
/// The two padded blocks of the key are hashed once, so that a code costs the message and one more block.
public struct HMACSHA256: Sendable {
    private let key: PreparedKey

    /// Prepares a key of any length; one longer than 64 bytes is hashed first (RFC 2104 §2).
    public init(key: Span<UInt8>) {
        var block = [UInt8](repeating: 0, count: PreparedKey.blockLength)
        if key.count > block.count {
            let digest = Digest.sha256(key)
            block.replaceSubrange(0..<digest.count, with: digest)
        } else {
            for index in key.indices { block[index] = key[index] }
        }
        self.key = PreparedKey(inner: block.map { $0 ^ 0x36 }, outer: block.map { $0 ^ 0x5C })
    }

    /// Returns the code of `message`, 32 bytes.
    public func code(for message: Span<UInt8>) -> [UInt8] {
        var array: [UInt8] = []
        key.withCode(of: message) { code in
            code.withUnsafeBufferPointer { array.append(contentsOf: $0) }
        }
        return array
    }

    /// Returns whether `text` is the code of `message` in lower-case hexadecimal digits, in constant time.
    public func isCode(_ text: Span<UInt8>, of message: Span<UInt8>) -> Bool {
        var isEqual = false
        key.withCode(of: message) { isEqual = Hex.matches(text, $0) }
        return isEqual
    }
}

#if canImport(CryptoKit)
    import CryptoKit

    /// An HMAC-SHA256 key whose two padded blocks have been hashed.
    struct PreparedKey: Sendable {
        static let blockLength = SHA256.blockByteCount
        private var inner = SHA256()
        private var outer = SHA256()

        /// Hashes the key's two padded blocks (RFC 2104 §2).
        init(inner innerBlock: [UInt8], outer outerBlock: [UInt8]) {
            innerBlock.withUnsafeBytes { inner.update(bufferPointer: $0) }
            outerBlock.withUnsafeBytes { outer.update(bufferPointer: $0) }
        }

        /// Calls `body` with the code of `message`.
        func withCode(of message: Span<UInt8>, _ body: (Span<UInt8>) -> Void) {
            let digest = DigestFunction.digest(of: message, by: inner)
            let code = DigestFunction.digest(of: digest.span, by: outer)
            body(code.span)
        }
    }
#else
    import COpenSSL

    /// An HMAC-SHA256 key whose two padded blocks have been hashed; zeroed when it is released.
    ///
    /// SAFETY: `@unchecked Sendable`, because the pointer's memory is owned by this object, and
    /// written in `init` and `deinit` only.
    final class PreparedKey: @unchecked Sendable {
        static let blockLength = Int(SHA256_CBLOCK)
        private let key = UnsafeMutablePointer<shim_HMAC_SHA256_key>.allocate(capacity: 1)

        /// Hashes the key's two padded blocks (RFC 2104 §2).
        init(inner: [UInt8], outer: [UInt8]) {
            shim_HMAC_SHA256_prepare(key, inner, outer)
        }

        deinit {
            OPENSSL_cleanse(key, MemoryLayout<shim_HMAC_SHA256_key>.size)
            key.deallocate()
        }

        /// Calls `body` with the code of `message`, which is on the stack.
        func withCode(of message: Span<UInt8>, _ body: (Span<UInt8>) -> Void) {
            withUnsafeTemporaryAllocation(
                of: UInt8.self,
                capacity: Int(SHA256_DIGEST_LENGTH)
            ) { code in
                message.withUnsafeBytes {
                    shim_HMAC_SHA256(key, $0.baseAddress, $0.count, code.baseAddress)
                }
                body(code.span)
            }
        }
    }
#endif
