public import GRDB
public import LiveCollections
public import LiveRows

import Dispatch

/// The result of a database query, observed: the list's rows follow every write to the database.
///
/// Whoever writes, the list itself, a sync with a backend or another part of the app: the query is
/// made again, and exactly the rows that differ change. Edits of the list are the app's own writes.
public final class QuerySource<Row: LiveRow>: LiveSource where Row.ID: Sendable {
    private let snapshots: SnapshotSource<Row>

    /// Observes a query, and writes edits to the database.
    ///
    /// - Parameters:
    ///   - database: The database.
    ///   - fetch: Makes the query; its rows are in order, and no id occurs twice.
    ///   - write: Does an operation, in one transaction with the others of its edit. What it throws
    ///     takes the edit back.
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

    /// Observes a query; the list is read-only, its rows change by what is written elsewhere.
    ///
    /// - Parameters:
    ///   - database: The database.
    ///   - fetch: Makes the query; its rows are in order, and no id occurs twice.
    public init(
        in database: any DatabaseReader,
        fetch: @escaping @Sendable (Database) throws -> [Row]
    ) {
        snapshots = SnapshotSource(snapshots: { Self.observe(database, fetch) })
    }

    /// Tells the result of the query now and after each write that changes it.
    public func listen(_ tell: @escaping @Sendable (SourceEvent<Row>) async -> Void) async throws {
        try await snapshots.listen(tell)
    }

    /// Never asked for: the observation begins with a snapshot.
    ///
    /// - Throws: `LiveListError.refused` always.
    public func snapshot() async throws -> ListSnapshot<Row> { try await snapshots.snapshot() }

    /// Writes an edit to the database, in one transaction.
    ///
    /// - Parameter commit: The edit.
    /// - Returns: `nil`: the observation tells what came of it.
    /// - Throws: `LiveListError.refused` with the database's error, unless
    ///   the database is busy; then the edit is tried again.
    public func commit(_ commit: ListCommit<Row>) async throws -> UInt64? {
        try await snapshots.commit(commit)
    }

    private static func observe(
        _ database: any DatabaseReader,
        _ fetch: @escaping @Sendable (Database) throws -> [Row]
    ) -> AsyncThrowingStream<[Row], any Error> {
        AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let observation = ValueObservation.tracking(fetch).removeDuplicates()
            // Serial: on another queue an older result could overtake the latest.
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
            throw LiveListError.refused(reason: "the database does not take it: \(error)")
        }
    }
}
