/// The compressor and decompressor of one connection, each made at its first message.
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

    /// Compresses a message to be sent.
    ///
    /// - Parameter message: The whole payload.
    /// - Returns: `nil` when it is better sent as it is (RFC 7692 §6: the sender may choose).
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
            // The next message may refer to this one, so the peer must see it compressed.
            self.deflater = deflater
            return compressed
        }
        return compressed.count < message.count ? compressed : nil
    }

    /// Inflates a piece of a message; returns what is wrong with it.
    func inflate(
        _ compressed: Span<UInt8>,
        into output: inout [UInt8],
        limit: Int
    ) -> WebSocketError? {
        openInflater().inflate(compressed, into: &output, limit: limit)
    }

    /// Ends a message that had at least one byte; returns what is wrong with it.
    func finish(into output: inout [UInt8], limit: Int) -> WebSocketError? {
        let failure = openInflater().finish(into: &output, limit: limit)
        let forgets =
            role == .server ? agreed.clientNoContextTakeover : agreed.serverNoContextTakeover
        if forgets { inflater = nil }
        return failure
    }

    /// Gives all memory back; nothing more can be sent or received.
    func release() {
        deflater = nil
        inflater = nil
    }

    /// The memory that a message takes that is being inflated, in bytes; 0 while there is none.
    var inflaterSize: Int {
        inflater == nil ? 0 : Inflater.memorySize(windowBits: inflaterWindowBits)
    }

    /// Gives the memory back that a message takes that is being inflated; the rest of it cannot be received.
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
