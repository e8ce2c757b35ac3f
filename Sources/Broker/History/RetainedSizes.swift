/// The amount kept for recovery, summed over the streams, to check the limits.
package struct RetainedSizes: Sendable {
    /// The size of all kept messages, in bytes, as counted for the budgets.
    package var countedByteCount = 0
    /// The size of all kept messages, in bytes.
    package var byteCount = 0
    /// The largest number of messages that any channel keeps.
    package var channelMessages = 0
    /// The largest size of the messages that any channel keeps, in bytes.
    package var channelBytes = 0
    /// The sessions of stock clients, including parked ones.
    package var sessions = 0

    package init() {}

    /// The sizes of two shards together.
    package func merged(with other: RetainedSizes) -> RetainedSizes {
        var merged = self
        merged.countedByteCount += other.countedByteCount
        merged.byteCount += other.byteCount
        merged.channelMessages = max(channelMessages, other.channelMessages)
        merged.channelBytes = max(channelBytes, other.channelBytes)
        merged.sessions += other.sessions
        return merged
    }
}
