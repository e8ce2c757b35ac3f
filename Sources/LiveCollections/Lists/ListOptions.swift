public import FanfareClient

/// What a list does by itself, and its limits.
public struct ListOptions: Sendable {
    /// How many rows a list may have; a snapshot with more is an error, an edit to more is refused.
    public var rowsMax = 100_000
    /// How many edits may wait for their confirmation; one more is refused.
    public var pendingEditsMax = 256
    /// How many operations an edit may have.
    public var operationsMax = 1024
    /// How many changes are kept while a snapshot is on its way; with more, another is fetched.
    public var bufferedChangesMax = 4096
    /// When what failed is tried again: snapshots, commits without an answer, a source that ended.
    public var backoff = Backoff()
    /// The time to go by.
    public var clock = ClientClock.continuous

    /// The default of each.
    public init() {}
}
