public import LiveRows

import Synchronization

/// Rows in memory, with their own writer: a list that needs no network.
///
/// Several lists can share one source; then an edit of one shows in all.
public final class LocalSource<Row: LiveRow>: LiveSource where Row.ID: Sendable {
    /// How many changes wait for a list that is slow; with more, it takes all rows anew.
    private static var changesMax: Int { 256 }

    private struct State {
        var authority: ListWriter<Row>
        var listeners: [Int: AsyncStream<ListChange<Row>>.Continuation] = [:]
        var next = 0
    }

    private let state: Mutex<State>

    /// Holds rows.
    ///
    /// - Parameter rows: The rows, in order.
    /// - Throws: `DuplicateRow` when two of them have one id.
    public init(_ rows: [Row] = []) throws(DuplicateRow) {
        state = Mutex(State(authority: try ListWriter(rows)))
    }

    /// Changes the rows from outside of any list.
    ///
    /// - Parameter operations: What to do, in order.
    public func apply(_ operations: [ListOperation<Row>]) {
        state.withLock { state in
            // No mutation has the empty name twice in a row without being meant.
            let commit = ListCommit(
                mutation: "local \(state.authority.revision)",
                operations: operations
            )
            _ = try? Self.commit(commit, &state)
        }
    }

    /// The rows as they are.
    public var rows: [Row] { state.withLock { $0.authority.snapshot.rows } }

    /// The rows as they are.
    public func initial() -> ListSnapshot<Row>? { state.withLock { $0.authority.snapshot } }

    /// Tells the changes, until the task is cancelled.
    public func listen(_ tell: @escaping @Sendable (SourceEvent<Row>) async -> Void) async throws {
        let (changes, id) = state.withLock { state in
            let (stream, continuation) = AsyncStream<ListChange<Row>>.makeStream(
                // The newest are kept: who misses some sees it by their revisions.
                bufferingPolicy: .bufferingNewest(Self.changesMax)
            )
            state.next += 1
            state.listeners[state.next] = continuation
            return (stream, state.next)
        }
        defer { state.withLock { _ = $0.listeners.removeValue(forKey: id) } }
        await tell(.subscribed)
        for await change in changes { await tell(.change(change)) }
    }

    /// The rows as they are.
    public func snapshot() async throws -> ListSnapshot<Row> {
        state.withLock { $0.authority.snapshot }
    }

    /// Does an edit.
    ///
    /// - Parameter commit: The edit.
    /// - Returns: The revision that it led to.
    /// - Throws: ``LiveListError/refused(reason:)`` when it was meant for another revision.
    public func commit(_ commit: ListCommit<Row>) async throws -> UInt64? {
        try state.withLock { try Self.commit(commit, &$0) }
    }

    private static func commit(
        _ commit: ListCommit<Row>,
        _ state: inout State
    ) throws(LiveListError) -> UInt64 {
        let (revision, change) = try state.authority.commit(commit)
        // Under the lock, so that all are told in the order of the revisions.
        if let change { for listener in state.listeners.values { listener.yield(change) } }
        return revision
    }
}

extension LiveList {
    /// A list of rows in memory, without any network.
    ///
    /// - Parameters:
    ///   - rows: The rows, in order.
    ///   - options: Limits.
    /// - Throws: `DuplicateRow` when two of them have one id.
    public convenience init(
        rows: [Row],
        options: ListOptions = ListOptions()
    ) throws(DuplicateRow) {
        self.init(try LocalSource(rows), options: options)
    }
}
