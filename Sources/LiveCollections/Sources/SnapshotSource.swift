import Primitives

/// A source that sends all rows after each change, as some databases do.
///
/// The list compares each snapshot with the previous one, by the rows' IDs.
public final class SnapshotSource<Row: LiveRow>: LiveSource where Row.ID: Sendable {
    private let snapshots: @Sendable () -> AsyncThrowingStream<[Row], any Error>
    private let write: (@Sendable (ListCommit<Row>) async throws -> Void)?
    private let revision = Lock<UInt64>(0)

    /// Creates a source from a sequence of snapshots.
    ///
    /// - Parameters:
    ///   - commit: Sends an edit and returns when it is applied. A ``LiveListError`` refuses the edit; any other error
    ///     means that there is no answer. Without the closure the list is read-only.
    ///   - snapshots: Returns the sequence, each time the list starts to listen.
    public init(
        commit: (@Sendable (ListCommit<Row>) async throws -> Void)? = nil,
        snapshots: @escaping @Sendable () -> AsyncThrowingStream<[Row], any Error>
    ) {
        self.snapshots = snapshots
        write = commit
    }

    /// Sends each snapshot until the sequence ends or the task is cancelled.
    public func listen(_ handler: @escaping @Sendable (SourceEvent<Row>) async -> Void) async throws
    {
        for try await rows in snapshots() {
            let number = revision.withLock { revision in
                revision += 1
                return revision
            }
            await handler(.snapshot(ListSnapshot(revision: number, rows: rows)))
        }
    }

    /// Throws an error, because the sequence begins with a snapshot.
    ///
    /// - Throws: Always ``LiveListError/refused(reason:)``.
    public func snapshot() async throws -> ListSnapshot<Row> {
        throw LiveListError.refused(reason: "the source sends snapshots by itself")
    }

    /// Sends an edit.
    ///
    /// - Parameter commit: The edit.
    /// - Returns: `nil`, because the next snapshot contains the result.
    /// - Throws: The closure's error; ``LiveListError/readOnly`` without a closure.
    public func commit(_ commit: ListCommit<Row>) async throws -> UInt64? {
        guard let write else { throw LiveListError.readOnly }
        try await write(commit)
        return nil
    }
}
