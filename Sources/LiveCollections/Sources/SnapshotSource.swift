import Synchronization

/// A source that gives all rows each time something has changed, as some databases do.
///
/// Each snapshot is compared with the one before by the rows' ids.
public final class SnapshotSource<Row: LiveRow>: LiveSource where Row.ID: Sendable {
    private let snapshots: @Sendable () -> AsyncThrowingStream<[Row], any Error>
    private let write: (@Sendable (ListCommit<Row>) async throws -> Void)?
    private let revision = Atomic<UInt64>(0)

    /// Takes rows from a sequence of snapshots.
    ///
    /// - Parameters:
    ///   - commit: Hands an edit in, and comes back when it is done; a ``LiveListError`` refuses it,
    ///     any other error says that there is no answer. Without it the list is read-only.
    ///   - snapshots: Makes the sequence, each time the list begins to listen.
    public init(
        commit: (@Sendable (ListCommit<Row>) async throws -> Void)? = nil,
        snapshots: @escaping @Sendable () -> AsyncThrowingStream<[Row], any Error>
    ) {
        self.snapshots = snapshots
        write = commit
    }

    /// Tells each snapshot, until the sequence ends or the task is cancelled.
    public func listen(_ tell: @escaping @Sendable (SourceEvent<Row>) async -> Void) async throws {
        for try await rows in snapshots() {
            let number = revision.wrappingAdd(1, ordering: .relaxed).newValue
            await tell(.snapshot(ListSnapshot(revision: number, rows: rows)))
        }
    }

    /// Never asked for: the sequence begins with a snapshot.
    ///
    /// - Throws: ``LiveListError/refused(reason:)`` always.
    public func snapshot() async throws -> ListSnapshot<Row> {
        throw LiveListError.refused(reason: "the source tells its snapshots by itself")
    }

    /// Hands an edit in.
    ///
    /// - Parameter commit: The edit.
    /// - Returns: `nil`: the next snapshot shows what came of it.
    /// - Throws: What the closure throws; ``LiveListError/readOnly`` without one.
    public func commit(_ commit: ListCommit<Row>) async throws -> UInt64? {
        guard let write else { throw LiveListError.readOnly }
        try await write(commit)
        return nil
    }
}
