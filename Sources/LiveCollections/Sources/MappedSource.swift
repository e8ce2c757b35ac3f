public import FanfareClient
public import LiveRows

/// The change of a list that an app-specific event describes.
public struct MappedChange<Row: LiveRow>: Sendable where Row.ID: Sendable {
    /// The ID of the edit that caused the event, if it is one of this client's.
    public var mutation: String?
    /// The operations, in order, by the rows' IDs.
    public var operations: [ListOperation<Row>]

    /// Creates a change.
    ///
    /// - Parameters:
    ///   - mutation: The ID of the edit that caused the event, if it is one of this client's.
    ///   - operations: The operations, in order.
    public init(mutation: String? = nil, operations: [ListOperation<Row>]) {
        self.mutation = mutation
        self.operations = operations
    }
}

/// A source for app-specific events without revisions, such as `addUser`.
///
/// Each list numbers the events itself, so that several lists can share one source. A list fetches all rows when its
/// connection may have lost events; it does not notice events that the backend never published. If you can change the
/// backend, use ``ChannelSource``.
public final class MappedSource<Row: LiveRow>: LiveSource where Row.ID: Sendable {
    private let channel: Channel
    private let fetch: @Sendable () async throws -> [Row]
    private let read: @Sendable (ChannelEvent) throws -> MappedChange<Row>?
    private let write: (@Sendable (ListCommit<Row>) async throws -> Void)?

    /// Creates a source from a channel and closures.
    ///
    /// - Parameters:
    ///   - channel: The channel; the source subscribes to it.
    ///   - rows: Fetches all rows, in order.
    ///   - commit: Sends an edit and returns when it is applied. A ``LiveListError`` refuses the edit. After any other
    ///     error the edit is sent again, so a backend that does not detect repeated edits must not have applied it.
    ///     Without the closure the list is read-only.
    ///   - change: Converts an event; returns `nil` for an event that does not belong to the list.
    public init(
        channel: Channel,
        rows: @escaping @Sendable () async throws -> [Row],
        commit: (@Sendable (ListCommit<Row>) async throws -> Void)? = nil,
        change: @escaping @Sendable (ChannelEvent) throws -> MappedChange<Row>?
    ) {
        self.channel = channel
        fetch = rows
        write = commit
        read = change
    }

    /// Subscribes and sends each change until the task is cancelled.
    public func listen(_ handler: @escaping @Sendable (SourceEvent<Row>) async -> Void) async throws
    {
        try await ChannelFollower(channel, handler).follow { [read] event in
            do {
                guard let change = try read(event) else { return nil }
                return .unnumbered(mutation: change.mutation, operations: change.operations)
            } catch {
                return .unreadable(LiveListError.unreadableEvent(reason: "\(error)"))
            }
        }
    }

    /// Whether the broker numbers the channel's events, so that a missing one is noticed.
    public var reportsMissedChanges: Bool { channel.position != nil }

    /// Fetches all rows, with revision 0: the list numbers them.
    ///
    /// The rows may already contain events that are sent during the fetch, so operations by ID may be applied twice.
    public func snapshot() async throws -> ListSnapshot<Row> {
        ListSnapshot(revision: 0, rows: try await fetch())
    }

    /// Sends an edit.
    ///
    /// - Parameter commit: The edit.
    /// - Returns: `nil`, because the backend does not number its changes.
    /// - Throws: The closure's error; ``LiveListError/readOnly`` without a closure.
    public func commit(_ commit: ListCommit<Row>) async throws -> UInt64? {
        guard let write else { throw LiveListError.readOnly }
        try await write(commit)
        return nil
    }
}
