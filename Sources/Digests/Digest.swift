/// The message digests that WebSocket and the Pusher protocol ask for.
///
/// SHA-1 and MD5 are here because RFC 6455 §1.3 and the Pusher HTTP API name them; neither protects anything there.
public enum Digest {
    /// Returns the SHA-1 digest, 20 bytes.
    public static func sha1(_ bytes: Span<UInt8>) -> [UInt8] {
        DigestState(.sha1).digest(of: bytes)
    }

    /// Returns the MD5 digest, 16 bytes.
    public static func md5(_ bytes: Span<UInt8>) -> [UInt8] { DigestState(.md5).digest(of: bytes) }

    /// Returns the SHA-256 digest, 32 bytes.
    public static func sha256(_ bytes: Span<UInt8>) -> [UInt8] {
        DigestState(.sha256).digest(of: bytes)
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
