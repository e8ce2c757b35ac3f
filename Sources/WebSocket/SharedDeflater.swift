/// Compresses a message once for many endpoints of a server (RFC 7692).
///
/// They must have agreed on the same window for the server's messages and on
/// `server_no_context_takeover` (§7.1.1.1): then the same bytes are right for each of them, whatever
/// else it has received. ``WebSocketEndpoint/sharedWindowBits`` says which endpoints those are.
public final class SharedDeflater {
    private let deflater: Deflater
    private let threshold: Int

    /// A compressor whose memory, about 256 KiB, is taken at the first message and kept.
    ///
    /// - Parameters:
    ///   - windowBits: The window of the endpoints, 8 to 15.
    ///   - options: The level, the memory level and the shortest message that is compressed.
    public init(windowBits: Int, options: DeflateOptions) {
        deflater = Deflater(
            windowBits: windowBits,
            level: options.level,
            memoryLevel: options.memoryLevel
        )
        threshold = options.compressionThreshold
    }

    /// A text frame with the compressed message.
    ///
    /// - Parameter message: The whole payload, UTF-8.
    /// - Returns: `nil` when it is better sent as it is (§6: the sender may choose).
    public func textFrame(_ message: Span<UInt8>) -> [UInt8]? {
        guard message.count >= threshold, !message.isEmpty else { return nil }
        let compressed = deflater.deflate(message)
        deflater.reset()
        guard compressed.count < message.count else { return nil }
        return FrameEncoder.frame(.text, isCompressed: true, payload: compressed.span)
    }
}
