/// The message digests that WebSocket and the Pusher protocol ask for.
///
/// SHA-1 and MD5 are here because RFC 6455 §1.3 and the Pusher HTTP API name them; neither protects anything there.
public enum Digest {
    /// Returns the SHA-1 digest, 20 bytes.
    public static func sha1(_ bytes: Span<UInt8>) -> [UInt8] {
        DigestState(.sha1).digest(ofAll: bytes)
    }

    /// Returns the MD5 digest, 16 bytes.
    public static func md5(_ bytes: Span<UInt8>) -> [UInt8] {
        DigestState(.md5).digest(ofAll: bytes)
    }

    /// Whether `text` is the MD5 digest of `bytes` in lower-case hexadecimal digits; compared in constant time.
    public static func isMD5(_ text: Span<UInt8>, of bytes: Span<UInt8>) -> Bool {
        var isEqual = false
        DigestState(.md5).withDigest(of: bytes) { isEqual = Hex.matches(text, $0) }
        return isEqual
    }

    /// Returns the SHA-256 digest, 32 bytes.
    public static func sha256(_ bytes: Span<UInt8>) -> [UInt8] {
        DigestState(.sha256).digest(ofAll: bytes)
    }
}

/// The digests by name, with the sizes that HMAC needs.
enum DigestAlgorithm: Sendable {
    case sha1, md5, sha256

    /// The bytes of one digest.
    var length: Int {
        switch self {
        case .md5: 16
        case .sha1: 20
        case .sha256: 32
        }
    }
}
