/// The digests by name, as the system's library computes them.
enum DigestFunction {
    case sha1, md5, sha256

    /// Returns the digest of `bytes`, as an array.
    func digest(of bytes: Span<UInt8>) -> [UInt8] {
        var array: [UInt8] = []
        withDigest(of: bytes) { digest in
            digest.withUnsafeBufferPointer { array.append(contentsOf: $0) }
        }
        return array
    }
}

#if canImport(CryptoKit)
    import CryptoKit

    extension DigestFunction {
        /// Calls `body` with the digest of `bytes`.
        func withDigest(of bytes: Span<UInt8>, _ body: (Span<UInt8>) -> Void) {
            let digest =
                switch self {
                case .sha1: DigestFunction.digest(of: bytes, by: Insecure.SHA1())
                case .md5: DigestFunction.digest(of: bytes, by: Insecure.MD5())
                case .sha256: DigestFunction.digest(of: bytes, by: SHA256())
                }
            body(digest.span)
        }

        /// Returns the digest of what `state` has absorbed followed by `bytes`.
        static func digest(of bytes: Span<UInt8>, by state: some HashFunction) -> [UInt8] {
            var state = state
            bytes.withUnsafeBytes { state.update(bufferPointer: $0) }
            return Array(state.finalize())
        }
    }
#else
    import COpenSSL

    extension DigestFunction {
        /// The bytes of one digest.
        private var length: Int {
            switch self {
            case .md5: Int(MD5_DIGEST_LENGTH)
            case .sha1: Int(SHA_DIGEST_LENGTH)
            case .sha256: Int(SHA256_DIGEST_LENGTH)
            }
        }

        /// Calls `body` with the digest of `bytes`, which lies on the stack.
        func withDigest(of bytes: Span<UInt8>, _ body: (Span<UInt8>) -> Void) {
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: length) { digest in
                bytes.withUnsafeBytes { raw in
                    switch self {
                    case .md5: shim_MD5(raw.baseAddress, raw.count, digest.baseAddress)
                    case .sha1: shim_SHA1(raw.baseAddress, raw.count, digest.baseAddress)
                    case .sha256: shim_SHA256(raw.baseAddress, raw.count, digest.baseAddress)
                    }
                }
                body(digest.span)
            }
        }
    }
#endif
