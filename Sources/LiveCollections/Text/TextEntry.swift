/// An entry of the backend's log; it is published to all clients.
public struct TextEntry: Hashable, Sendable {
    /// The change.
    package enum Change: Hashable, Sendable {
        /// An edit by a replica.
        case batch(TextBatch)
        /// A compaction that began this epoch: earlier operations are no longer valid.
        case compacted(epoch: UInt64)
    }

    /// The position in the log: 1 for the first entry, one more for each that follows.
    public var serial: UInt64
    /// The change.
    package var change: Change

    /// Creates an entry.
    package init(serial: UInt64, change: Change) {
        self.serial = serial
        self.change = change
    }
}

/// The response to a client that may have missed entries.
public enum TextRecovery: Hashable, Sendable {
    /// The entries after the known ones, up to a maximum; `serial` is the end of the log.
    case entries([TextEntry], serial: UInt64)
    /// The text, because the log no longer contains all of the entries.
    case snapshot(TextSnapshot)
}
