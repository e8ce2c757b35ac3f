/// The limits of received messages.
public struct WebSocketLimits: Sendable, Hashable {
    /// The longest message, with all fragments and inflated, in bytes.
    ///
    /// A longer one is refused with 1009 as soon as a frame announces it, before it is buffered.
    public var messageLengthMax: Int

    /// The maximum number of fragments of one message.
    ///
    /// Empty fragments take no memory, but without this limit a message could have any number of them.
    public var fragmentCountMax: Int

    /// Makes limits; by default messages of up to 16 MiB are accepted.
    ///
    /// - Parameters:
    ///   - messageLengthMax: Bytes, at least 0.
    ///   - fragmentCountMax: Frames of one message, at least 1.
    public init(messageLengthMax: Int = 16 << 20, fragmentCountMax: Int = 1 << 20) {
        precondition(messageLengthMax >= 0 && fragmentCountMax >= 1, "limits must allow something")
        self.messageLengthMax = messageLengthMax
        self.fragmentCountMax = fragmentCountMax
    }

    /// The maximum number of compressed bytes of one message.
    ///
    /// Incompressible data grows slightly (RFC 1951 §3.2.4: five bytes per stored block), so an eighth more than the
    /// message may arrive. Any further data is empty blocks, which only take time.
    var compressedLengthMax: Int {
        let (sum, isOverflow) = messageLengthMax.addingReportingOverflow(messageLengthMax / 8 + 64)
        return isOverflow ? .max : sum
    }
}
