/// The source of a shared text and target of its edits.
///
/// ``ChannelTextSource`` uses a channel and an HTTP API. Conform to the protocol for tests or other transports.
public protocol TextSource: Sendable {
    /// Returns the backend's events from now on, until the reading task is cancelled.
    ///
    /// ``TextSourceEvent/connected`` comes first, and again after each interruption in which entries may have been
    /// missed; after other interruptions ``TextSourceEvent/resumed`` comes instead. Limit the stream's buffer, and send
    /// ``TextSourceEvent/gap`` in place of dropped events. If the stream ends, it is requested again after a delay.
    func news() -> AsyncStream<TextSourceEvent>

    /// Loads the current text.
    ///
    /// - Returns: The text.
    /// - Throws: The error; the request is retried.
    func snapshot() async throws -> TextSnapshot

    /// Loads the entries after a serial.
    ///
    /// - Parameters:
    ///   - serial: The serial up to which all entries are known.
    ///   - epoch: The epoch of the known entries.
    /// - Returns: The entries, or the text.
    /// - Throws: The error; the request is retried.
    func recovery(after serial: UInt64, epoch: UInt64) async throws -> TextRecovery

    /// Sends edits.
    ///
    /// - Parameter batch: The edits; a batch may be sent more than once.
    /// - Throws: A ``TextRefusal`` when the backend refuses them; after any other error they are sent again.
    func send(_ batch: TextBatch) async throws
}

/// An event of a source.
public enum TextSourceEvent: Sendable, Hashable {
    /// Entries are sent from now on.
    case connected
    /// Entries are sent again after `disconnected`, and none was missed.
    case resumed
    /// No entries are sent until the next `connected` or `resumed`.
    case disconnected(reason: String)
    /// A log entry.
    case entry(TextEntry)
    /// Entries were dropped; the reader fetches them from the backend.
    case gap
}
