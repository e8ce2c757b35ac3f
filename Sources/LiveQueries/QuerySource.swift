public import GRDB
public import LiveCollections
public import LiveRows

import Dispatch

/// The observed result of a database query: the list's rows follow every write to the database.
///
/// After every write, by the list, a sync or another part of the app, the query runs again and the changed rows are
/// updated. The app's own closure writes the list's edits.
public final class QuerySource<Row: LiveRow>: LiveSource where Row.ID: Sendable {
    private let snapshots: SnapshotSource<Row>

    /// Creates a source that observes a query and writes edits to the database.
    ///
    /// - Parameters:
    ///   - database: The database.
    ///   - fetch: Runs the query; its rows are ordered and have unique IDs.
    ///   - write: Writes an operation. All operations of an edit are in one transaction; an error reverts the edit. Of a
    ///     set, write its `contents(over:)` the stored row, so that the other members stay.
    public init(
        in database: any DatabaseWriter,
        fetch: @escaping @Sendable (Database) throws -> [Row],
        write: @escaping @Sendable (Database, ListOperation<Row>) throws -> Void
    ) {
        snapshots = SnapshotSource(
            commit: { commit in
                try await Self.write(commit, to: database, write)
            },
            snapshots: { Self.observe(database, fetch) }
        )
    }

    /// Creates a read-only source that observes a query.
    ///
    /// - Parameters:
    ///   - database: The database.
    ///   - fetch: Runs the query; its rows are ordered and have unique IDs.
    public init(
        in database: any DatabaseReader,
        fetch: @escaping @Sendable (Database) throws -> [Row]
    ) {
        snapshots = SnapshotSource(snapshots: { Self.observe(database, fetch) })
    }

    /// Sends the result of the query now and after each write that changes it.
    public func listen(_ handler: @escaping @Sendable (SourceEvent<Row>) async -> Void) async throws
    {
        try await snapshots.listen(handler)
    }

    /// Throws an error, because the observation begins with a snapshot.
    ///
    /// - Throws: Always `LiveListError.refused`.
    public func snapshot() async throws -> ListSnapshot<Row> { try await snapshots.snapshot() }

    /// Writes an edit to the database, in one transaction.
    ///
    /// - Parameter commit: The edit.
    /// - Returns: `nil`, because the observation sends the result.
    /// - Throws: `LiveListError.refused` with the database's error. If the database is busy, SQLite's own error; the
    ///   edit is then retried.
    public func commit(_ commit: ListCommit<Row>) async throws -> UInt64? {
        try await snapshots.commit(commit)
    }

    private static func observe(
        _ database: any DatabaseReader,
        _ fetch: @escaping @Sendable (Database) throws -> [Row]
    ) -> AsyncThrowingStream<[Row], any Error> {
        AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let observation = ValueObservation.tracking(fetch).removeDuplicates()
            // A serial queue keeps the order of the results.
            let queue = DispatchQueue(label: "fanfare.query", qos: .userInitiated)
            let cancellable = observation.start(
                in: database,
                scheduling: .async(onQueue: queue),
                onError: { continuation.finish(throwing: $0) },
                onChange: { continuation.yield($0) }
            )
            continuation.onTermination = { _ in cancellable.cancel() }
        }
    }

    private static func write(
        _ commit: ListCommit<Row>,
        to database: any DatabaseWriter,
        _ write: @escaping @Sendable (Database, ListOperation<Row>) throws -> Void
    ) async throws {
        do {
            try await database.write { database in
                for operation in commit.operations { try write(database, operation) }
            }
        } catch let error as LiveListError {
            throw error
        } catch let error as DatabaseError
            where error.resultCode == .SQLITE_BUSY || error.resultCode == .SQLITE_LOCKED
        {
            throw error
        } catch {
            throw LiveListError.refused(reason: "the database refused the write: \(error)")
        }
    }
}
