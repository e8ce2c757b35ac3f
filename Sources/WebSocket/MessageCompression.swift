/// The compressor and decompressor of one connection, each made at its first use.
final class MessageCompression {
    private let agreed: NegotiatedDeflate
    private let role: Role
    private var deflater: Deflater?
    private var inflater: Inflater?

    init(_ agreed: NegotiatedDeflate, role: Role) {
        self.agreed = agreed
        self.role = role
    }

    /// See ``WebSocketEndpoint/sharedWindowBits``.
    var sharedWindowBits: Int? {
        agreed.serverNoContextTakeover ? agreed.serverMaxWindowBits : nil
    }

    /// Compresses a complete message; `nil` to send it uncompressed (RFC 7692 §6: the sender may choose).
    func compress(_ message: Span<UInt8>) -> [UInt8]? {
        guard message.count >= agreed.compressionThreshold, !message.isEmpty else { return nil }
        let isServer = role == .server
        let forgets = isServer ? agreed.serverNoContextTakeover : agreed.clientNoContextTakeover
        let deflater =
            self.deflater
            ?? Deflater(
                windowBits: isServer ? agreed.serverMaxWindowBits : agreed.clientMaxWindowBits,
                level: agreed.level,
                memoryLevel: agreed.memoryLevel
            )
        let compressed = deflater.deflate(message)
        guard forgets else {
            // The next message may refer to this one, so it must be sent compressed.
            self.deflater = deflater
            return compressed
        }
        return compressed.count < message.count ? compressed : nil
    }

    /// Inflates a part of a message; returns an error, or nil.
    func inflate(
        _ compressed: Span<UInt8>,
        into output: inout [UInt8],
        limit: Int
    ) -> WebSocketError? {
        openInflater().inflate(compressed, into: &output, limit: limit)
    }

    /// Ends a non-empty message; returns an error, or nil.
    func finish(into output: inout [UInt8], limit: Int) -> WebSocketError? {
        let failure = openInflater().finish(into: &output, limit: limit)
        let forgets =
            role == .server ? agreed.clientNoContextTakeover : agreed.serverNoContextTakeover
        if forgets { inflater = nil }
        return failure
    }

    /// Frees all memory; nothing more can be sent or received.
    func release() {
        deflater = nil
        inflater = nil
    }

    /// The memory of the decompressor, in bytes; 0 if no message is being inflated.
    var inflaterSize: Int {
        inflater == nil ? 0 : Inflater.memorySize(windowBits: inflaterWindowBits)
    }

    /// Frees the decompressor; the rest of a message being inflated cannot be received.
    func releaseInflater() { inflater = nil }

    private var inflaterWindowBits: Int {
        role == .server ? agreed.clientMaxWindowBits : agreed.serverMaxWindowBits
    }

    private func openInflater() -> Inflater {
        if let inflater { return inflater }
        let inflater = Inflater(windowBits: inflaterWindowBits)
        self.inflater = inflater
        return inflater
    }
}
