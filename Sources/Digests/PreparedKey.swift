#if canImport(CryptoKit)
    import CryptoKit

    /// A key of HMAC-SHA256 whose two padded blocks have been absorbed.
    struct PreparedKey: Sendable {
        static let blockLength = SHA256.blockByteCount
        private var inner = SHA256()
        private var outer = SHA256()

        /// Absorbs the key's block, padded in both ways (RFC 2104 §2).
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

    /// A key of HMAC-SHA256 whose two padded blocks have been absorbed; wiped with its last reference.
    ///
    /// SAFETY: `@unchecked Sendable`, because what the pointer leads to is owned by this object, and
    /// written in `init` and `deinit` alone.
    final class PreparedKey: @unchecked Sendable {
        static let blockLength = Int(SHA256_CBLOCK)
        private let key = UnsafeMutablePointer<shim_HMAC_SHA256_key>.allocate(capacity: 1)

        /// Absorbs the key's block, padded in both ways (RFC 2104 §2).
        init(inner: [UInt8], outer: [UInt8]) {
            shim_HMAC_SHA256_prepare(key, inner, outer)
        }

        deinit {
            OPENSSL_cleanse(key, MemoryLayout<shim_HMAC_SHA256_key>.size)
            key.deallocate()
        }

        /// Calls `body` with the code of `message`, which lies on the stack.
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
