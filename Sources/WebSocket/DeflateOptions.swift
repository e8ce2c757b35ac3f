/// The options for compressing messages (RFC 7692 §7.1), which a client offers and a server accepts.
public struct DeflateOptions: Sendable, Hashable {
    /// Whether the server compresses each message independently (§7.1.1.1).
    public var serverNoContextTakeover: Bool
    /// Whether the client compresses each message independently (§7.1.1.2).
    public var clientNoContextTakeover: Bool
    /// The largest window of the server's compressor, as a logarithm (§7.1.2.1).
    public var serverMaxWindowBits: Int
    /// The largest window of the client's compressor, as a logarithm (§7.1.2.2).
    ///
    /// A server can request it only if the client's offer contains the parameter.
    public var clientMaxWindowBits: Int
    /// The shortest message to compress, in bytes; shorter ones are sent uncompressed.
    public var compressionThreshold: Int
    /// zlib's level, 1 (fast) to 9 (small).
    public var level: Int
    /// zlib's memory level, 1 (small) to 9 (fast): `2^(memoryLevel + 9)` bytes while compressing.
    public var memoryLevel: Int

    /// Makes options; the defaults compress well.
    ///
    /// A server with many connections should disable context takeover.
    ///
    /// - Parameters:
    ///   - serverNoContextTakeover: Requests, or for a server requires, that each of the server's messages is
    ///     independent.
    ///   - clientNoContextTakeover: The same for the client's messages.
    ///   - serverMaxWindowBits: 8 to 15.
    ///   - clientMaxWindowBits: 8 to 15.
    ///   - compressionThreshold: Bytes, at least 0.
    ///   - level: 1 to 9.
    ///   - memoryLevel: 1 to 9.
    public init(
        serverNoContextTakeover: Bool = false,
        clientNoContextTakeover: Bool = false,
        serverMaxWindowBits: Int = 15,
        clientMaxWindowBits: Int = 15,
        compressionThreshold: Int = 256,
        level: Int = 6,
        memoryLevel: Int = 8
    ) {
        precondition(8...15 ~= serverMaxWindowBits && 8...15 ~= clientMaxWindowBits)
        precondition(1...9 ~= level && 1...9 ~= memoryLevel && compressionThreshold >= 0)
        self.serverNoContextTakeover = serverNoContextTakeover
        self.clientNoContextTakeover = clientNoContextTakeover
        self.serverMaxWindowBits = serverMaxWindowBits
        self.clientMaxWindowBits = clientMaxWindowBits
        self.compressionThreshold = compressionThreshold
        self.level = level
        self.memoryLevel = memoryLevel
    }
}

/// The agreed compression parameters (RFC 7692 §7.1).
public struct NegotiatedDeflate: Sendable, Hashable {
    /// Whether the server compresses each message independently.
    public let serverNoContextTakeover: Bool
    /// Whether the client compresses each message independently.
    public let clientNoContextTakeover: Bool
    /// The window of the server's compressor, as a logarithm.
    public let serverMaxWindowBits: Int
    /// The window of the client's compressor, as a logarithm.
    public let clientMaxWindowBits: Int
    /// The shortest message that this side compresses, in bytes.
    public let compressionThreshold: Int
    /// zlib's level.
    public let level: Int
    /// zlib's memory level.
    public let memoryLevel: Int

    init(
        serverNoContextTakeover: Bool,
        clientNoContextTakeover: Bool,
        serverMaxWindowBits: Int,
        clientMaxWindowBits: Int,
        options: DeflateOptions
    ) {
        self.serverNoContextTakeover = serverNoContextTakeover
        self.clientNoContextTakeover = clientNoContextTakeover
        self.serverMaxWindowBits = serverMaxWindowBits
        self.clientMaxWindowBits = clientMaxWindowBits
        compressionThreshold = options.compressionThreshold
        level = options.level
        memoryLevel = options.memoryLevel
    }
}
