/// Where a shared text comes from, and where its edits go.
///
/// ``ChannelTextSource`` is one over a channel and an HTTP API. A test, or an app with another way to its backend,
/// writes its own.
public protocol TextSource: Sendable {
    /// What the backend tells, from now on, until the task that reads it is cancelled.
    ///
    /// ``TextSourceEvent/connected`` comes first, and again after each interruption: entries may have been missed.
    func news() -> AsyncStream<TextSourceEvent>

    /// Loads the text as it is now.
    ///
    /// - Returns: The text.
    /// - Throws: Whatever kept it from being loaded; it is tried again.
    func snapshot() async throws -> TextSnapshot

    /// Loads what followed an entry.
    ///
    /// - Parameters:
    ///   - serial: The last entry that is known with all before it.
    ///   - epoch: The epoch of what is known.
    /// - Returns: The entries, or the text.
    /// - Throws: Whatever kept it from being loaded; it is tried again.
    func recovery(after serial: UInt64, epoch: UInt64) async throws -> TextRecovery

    /// Sends edits.
    ///
    /// - Parameter batch: The edits; the same ones may come again.
    /// - Throws: A ``TextRefusal`` when the backend does not take them; after any other error they are sent again.
    func send(_ batch: TextBatch) async throws
}

/// What a source tells.
public enum TextSourceEvent: Sendable, Hashable {
    /// Entries are told from now on.
    case connected
    /// No entries are told for the time being.
    case disconnected(reason: String)
    /// An entry of the log.
    case entry(TextEntry)
}

/// Where a person is in a text, for others to show.
public struct TextCursor: Hashable, Sendable, Codable {
    /// Where the selection began.
    public var anchor: TextAnchor
    /// Where the caret is.
    public var focus: TextAnchor

    /// Describes a caret, or a selection.
    ///
    /// - Parameters:
    ///   - anchor: Where the selection began; the same place as `focus` without one.
    ///   - focus: Where the caret is.
    public init(anchor: TextAnchor, focus: TextAnchor) {
        self.anchor = anchor
        self.focus = focus
    }
}
