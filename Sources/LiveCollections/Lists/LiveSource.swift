/// Where a live list's rows come from, and where its edits go.
///
/// One writer decides the order of changes. A source tells of them as they come, fetches all rows
/// when some may have been missed, and hands in edits.
public protocol LiveSource<Row>: Sendable {
    /// The list's row.
    associatedtype Row: LiveRow where Row.ID: Sendable

    /// The rows, if they are at hand when a list begins; otherwise the list begins empty.
    func initial() -> ListSnapshot<Row>?

    /// Tells what happens, in order, until the task is cancelled.
    ///
    /// - Parameter tell: Takes the next event; it waits while the list has enough to do.
    /// - Throws: What makes it impossible to go on; the list tries again, as its options say.
    func listen(_ tell: @escaping @Sendable (SourceEvent<Row>) async -> Void) async throws

    /// Fetches all rows, with the revision that they are of.
    ///
    /// Changes are listened to before, so that rows and changes overlap and nothing is missed; the
    /// rows must be at least as new as the changes that were told before the call.
    ///
    /// - Returns: The rows.
    /// - Throws: Why that is impossible at present; the list tries again.
    func snapshot() async throws -> ListSnapshot<Row>

    /// Hands an edit in to the list's writer.
    ///
    /// - Parameter commit: The edit. If it has been handed in before, it is not done twice.
    /// - Returns: The revision that the edit led to; `nil` when the source does not number changes,
    ///   and the edit is simply done.
    /// - Throws: A ``LiveListError`` when the edit is refused, which takes it back; any other error
    ///   when there is no answer, and the edit is handed in again.
    func commit(_ commit: ListCommit<Row>) async throws -> UInt64?
}

extension LiveSource {
    /// No rows at hand.
    public func initial() -> ListSnapshot<Row>? { nil }
}

/// What a source tells a list.
public enum SourceEvent<Row: LiveRow>: Sendable where Row.ID: Sendable {
    /// From here on changes are told; there may have been others before, so a snapshot is due.
    case subscribed
    /// A change that the writer has made.
    case change(ListChange<Row>)
    /// All rows as they are now, from a source that knows no changes; they are compared.
    case snapshot(ListSnapshot<Row>)
    /// Something is wrong, and the source goes on.
    case failed(any Error)
}
