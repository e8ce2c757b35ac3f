public import FanfareClient

/// A source with a channel for the changes and a backend for the rows and edits.
///
/// The list's events contain a revision, a mutation and operations by ID, as JSON:
/// `{"revision":13,"mutation":"…","operations":[{"op":"move","id":7,"after":3}]}`. The source fetches all rows at the
/// start, after a gap, when a revision is missing and when an event cannot be decoded. If the broker replays the missed
/// events after a disconnect, no request is needed.
///
/// The channel stays subscribed while a list uses the source, regardless of other subscriptions of the app. While the
/// client is not connected, the list is ``ListState/offline(_:)``. A refused subscription is tried again.
public struct ChannelSource<Row: LiveRow & Codable>: LiveSource
where Row.ID: Sendable & Codable {
    private let channel: Channel
    private let event: String
    private let fetch: @Sendable () async throws -> ListSnapshot<Row>
    private let write: (@Sendable (ListCommit<Row>) async throws -> UInt64?)?
    private let fetchRevision: (@Sendable () async throws -> UInt64)?

    /// Creates a source from a channel and closures.
    ///
    /// - Parameters:
    ///   - channel: The channel; the source subscribes to it.
    ///   - event: The name of the event with a change.
    ///   - snapshot: Fetches all rows.
    ///   - revision: Fetches only the revision, for the checks of ``ListOptions/checkInterval``, which find changes
    ///     that the backend never published. Without the closure there are checks only if the broker keeps no
    ///     positions; they fetch all rows.
    ///   - commit: Sends an edit and returns its revision. A ``LiveListError`` refuses the edit; any other error means
    ///     that there is no usable answer. Without the closure the list is read-only.
    public init(
        channel: Channel,
        event: String = "list_changed",
        snapshot: @escaping @Sendable () async throws -> ListSnapshot<Row>,
        revision: (@Sendable () async throws -> UInt64)? = nil,
        commit: (@Sendable (ListCommit<Row>) async throws -> UInt64?)? = nil
    ) {
        self.channel = channel
        self.event = event
        fetch = snapshot
        write = commit
        fetchRevision = revision
    }

    /// Subscribes and sends each change until the task is cancelled.
    public func listen(_ handler: @escaping @Sendable (SourceEvent<Row>) async -> Void) async throws
    {
        try await ChannelFollower(channel, handler).follow { [event = self.event] received in
            guard received.name == event else { return nil }
            do {
                return .change(try received.decode(ListChange<Row>.self))
            } catch {
                return .unreadable(LiveListError.unreadableEvent(reason: "\(error)"))
            }
        }
    }

    /// Whether the broker numbers the channel's events, so that a missing one is noticed; `false` with a closure for
    /// the revision.
    public var reportsMissedChanges: Bool { fetchRevision == nil && channel.position != nil }

    /// Fetches all rows from the backend.
    public func snapshot() async throws -> ListSnapshot<Row> { try await fetch() }

    /// Fetches the revision from the backend; returns `nil` without a closure for it.
    public func revision() async throws -> UInt64? { try await fetchRevision?() }

    /// Sends an edit to the backend.
    ///
    /// - Parameter commit: The edit.
    /// - Returns: The revision of the edit.
    /// - Throws: A ``LiveListError`` when it is refused, ``LiveListError/readOnly`` without a commit closure; any other
    ///   error when there was no answer.
    public func commit(_ commit: ListCommit<Row>) async throws -> UInt64? {
        guard let write else { throw LiveListError.readOnly }
        return try await write(commit)
    }
}
