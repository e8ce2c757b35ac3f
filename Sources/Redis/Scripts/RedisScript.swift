import Digests

/// A script that Redis runs.
public struct RedisScript: Hashable, Sendable {
    /// The file's name, without its suffix.
    public let name: String
    /// The source in Lua.
    public let source: [UInt8]
    /// The SHA-1 digest of the source in hexadecimal digits, by which `EVALSHA` calls it.
    public let digest: String

    /// Makes a script from its source in Lua; the name is for logs.
    public init(name: String, source: [UInt8]) {
        self.name = name
        self.source = source
        digest = Hex.encode(Digest.sha1(source.span))
    }

    /// Compares by source.
    public static func == (left: RedisScript, right: RedisScript) -> Bool {
        left.digest == right.digest
    }

    /// Hashes the digest.
    public func hash(into hasher: inout Hasher) { hasher.combine(digest) }
}
