/// What a peer may make this side hold.
public struct WebSocketLimits: Sendable, Hashable {
    /// The longest message, in bytes, fragments together and after inflating.
    ///
    /// Refused with 1009 as soon as a frame announces more, before any of it is buffered.
    public var messageLengthMax: Int

    /// The most fragments of one message.
    ///
    /// Empty fragments cost no memory, but without this bound they could go on for ever.
    public var fragmentCountMax: Int

    /// Limits for a peer that is trusted with messages of up to 16 MiB unless said otherwise.
    ///
    /// - Parameters:
    ///   - messageLengthMax: Bytes, at least 0.
    ///   - fragmentCountMax: Frames of one message, at least 1.
    public init(messageLengthMax: Int = 16 << 20, fragmentCountMax: Int = 1 << 20) {
        precondition(messageLengthMax >= 0 && fragmentCountMax >= 1, "limits must allow something")
        self.messageLengthMax = messageLengthMax
        self.fragmentCountMax = fragmentCountMax
    }

    /// The most compressed bytes of one message.
    ///
    /// What cannot be compressed grows a little (RFC 1951 §3.2.4: five bytes a stored block), so an
    /// eighth more than the message itself may arrive; the rest is empty blocks that only cost time.
    var compressedLengthMax: Int {
        let (sum, isOverflow) = messageLengthMax.addingReportingOverflow(messageLengthMax / 8 + 64)
        return isOverflow ? .max : sum
    }
}
