import Primitives

/// The message digests that WebSocket and the Pusher protocol require.
///
/// SHA-1 and MD5 are required by RFC 6455 §1.3 and the Pusher HTTP API, where security does not depend on them.
public enum Digest {
    /// Returns the SHA-1 digest, 20 bytes.
    public static func sha1(_ bytes: Span<UInt8>) -> [UInt8] {
        DigestFunction.sha1.digest(of: bytes)
    }

    /// Calls `body` with the SHA-1 digest of `bytes`.
    public static func withSHA1(of bytes: Span<UInt8>, _ body: (Span<UInt8>) -> Void) {
        DigestFunction.sha1.withDigest(of: bytes, body)
    }

    /// Returns the MD5 digest, 16 bytes.
    public static func md5(_ bytes: Span<UInt8>) -> [UInt8] {
        DigestFunction.md5.digest(of: bytes)
    }

    /// Returns whether `text` is the MD5 digest of `bytes` in lower-case hexadecimal digits, in constant time.
    public static func isMD5(_ text: Span<UInt8>, of bytes: Span<UInt8>) -> Bool {
        var isEqual = false
        DigestFunction.md5.withDigest(of: bytes) { isEqual = Hex.matches(text, $0) }
        return isEqual
    }

    /// Returns the SHA-256 digest, 32 bytes.
    public static func sha256(_ bytes: Span<UInt8>) -> [UInt8] {
        DigestFunction.sha256.digest(of: bytes)
    }
}

/// The digests, computed by the system's library.
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

        /// Returns the digest of the bytes already added to `state`, followed by `bytes`.
        static func digest(of bytes: Span<UInt8>, by state: some HashFunction) -> [UInt8] {
            var state = state
            bytes.withUnsafeBytes { state.update(bufferPointer: $0) }
            return Array(state.finalize())
        }
    }
#else
    import COpenSSL

    extension DigestFunction {
        /// The length of a digest, in bytes.
        private var length: Int {
            switch self {
            case .md5: Int(MD5_DIGEST_LENGTH)
            case .sha1: Int(SHA_DIGEST_LENGTH)
            case .sha256: Int(SHA256_DIGEST_LENGTH)
            }
        }

        /// Calls `body` with the digest of `bytes`, which is on the stack.
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
