/// The message digests that WebSocket and the Pusher protocol ask for.
///
/// SHA-1 and MD5 are here because RFC 6455 §1.3 and the Pusher HTTP API name them; neither protects anything there.
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

    /// Whether `text` is the MD5 digest of `bytes` in lower-case hexadecimal digits; compared in constant time.
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
