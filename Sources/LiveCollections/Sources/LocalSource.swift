public import LiveRows

import Primitives

/// A source with rows in memory and its own writer, without a network.
///
/// Several lists can share one source; an edit of one list shows in all.
public final class LocalSource<Row: LiveRow>: LiveSource where Row.ID: Sendable {
    /// The maximum number of changes queued for a slow list; with more, the list fetches all rows.
    private static var changesMax: Int { 256 }

    private struct State {
        var writer: ListWriter<Row>
        var listeners: [Int: AsyncStream<ListChange<Row>>.Continuation] = [:]
        var next = 0
    }

    private let state: Lock<State>

    /// Creates a source.
    ///
    /// - Parameter rows: The rows, in order.
    /// - Throws: `DuplicateRow` when two rows have the same ID.
    public init(_ rows: [Row] = []) throws(DuplicateRow) {
        state = Lock(State(writer: try ListWriter(rows)))
    }

    /// Changes the rows without a list.
    ///
    /// - Parameter operations: The operations, in order.
    public func apply(_ operations: [ListOperation<Row>]) {
        state.withLock { state in
            // Unique, because the revision changes with each commit.
            let commit = ListCommit(
                mutation: "local \(state.writer.revision)",
                operations: operations
            )
            _ = try? Self.commit(commit, &state)
        }
    }

    /// The current rows.
    public var rows: [Row] { state.withLock { $0.writer.snapshot.rows } }

    /// Returns the current rows.
    public func initial() -> ListSnapshot<Row>? { state.withLock { $0.writer.snapshot } }

    /// Sends the changes until the task is cancelled.
    public func listen(_ handler: @escaping @Sendable (SourceEvent<Row>) async -> Void) async throws
    {
        let (changes, id) = state.withLock { state in
            let (stream, continuation) = AsyncStream<ListChange<Row>>.makeStream(
                // The newest changes are kept; a list detects missed changes by their revisions.
                bufferingPolicy: .bufferingNewest(Self.changesMax)
            )
            state.next += 1
            state.listeners[state.next] = continuation
            return (stream, state.next)
        }
        defer { state.withLock { _ = $0.listeners.removeValue(forKey: id) } }
        await handler(.subscribed)
        for await change in changes { await handler(.change(change)) }
    }

    /// Returns the current rows.
    public func snapshot() async throws -> ListSnapshot<Row> {
        state.withLock { $0.writer.snapshot }
    }

    /// Applies an edit.
    ///
    /// - Parameter commit: The edit.
    /// - Returns: The revision of the edit.
    /// - Throws: ``LiveListError/refused(reason:)`` when the edit requires another revision.
    public func commit(_ commit: ListCommit<Row>) async throws -> UInt64? {
        try state.withLock { try Self.commit(commit, &$0) }
    }

    private static func commit(
        _ commit: ListCommit<Row>,
        _ state: inout State
    ) throws(LiveListError) -> UInt64 {
        let (revision, change) = try state.writer.commit(commit)
        // Under the lock, so that all lists receive changes in the order of the revisions.
        if let change { for listener in state.listeners.values { listener.yield(change) } }
        return revision
    }
}

extension LiveList {
    /// Creates a list of rows in memory, without a network.
    ///
    /// - Parameters:
    ///   - rows: The rows, in order.
    ///   - options: The limits.
    /// - Throws: `DuplicateRow` when two rows have the same ID.
    public convenience init(
        rows: [Row],
        options: ListOptions = ListOptions()
    ) throws(DuplicateRow) {
        self.init(try LocalSource(rows), options: options)
    }
}
