public import FanfareClient

/// A channel that tells what changes, and a backend that has the rows and takes edits.
///
/// The events of the list carry a revision, the mutation they stem from and operations by id, as JSON:
/// `{"revision":13,"mutation":"…","operations":[{"op":"move","id":7,"after":3}]}`. After each
/// subscription, and when a revision is missing, all rows are fetched.
public struct ChannelSource<Row: LiveRow & Codable>: LiveSource
where Row.ID: Sendable & Codable {
    private let channel: Channel
    private let event: String
    private let fetch: @Sendable () async throws -> ListSnapshot<Row>
    private let write: (@Sendable (ListCommit<Row>) async throws -> UInt64?)?

    /// Puts a source together from a channel and closures.
    ///
    /// - Parameters:
    ///   - channel: The channel; it is subscribed to.
    ///   - event: The event that tells a change.
    ///   - snapshot: Fetches all rows.
    ///   - commit: Hands an edit in and gives its revision; a ``LiveListError`` refuses it, any other
    ///     error says that there is no answer. Without it the list is read-only.
    public init(
        channel: Channel,
        event: String = "list_changed",
        snapshot: @escaping @Sendable () async throws -> ListSnapshot<Row>,
        commit: (@Sendable (ListCommit<Row>) async throws -> UInt64?)? = nil
    ) {
        self.channel = channel
        self.event = event
        fetch = snapshot
        write = commit
    }

    /// Subscribes, and tells each change until the task is cancelled.
    public func listen(_ tell: @escaping @Sendable (SourceEvent<Row>) async -> Void) async throws {
        try await channel.followEvents(tell) { event in
            guard event.name == self.event else { return nil }
            do {
                return .change(try event.decode(ListChange<Row>.self))
            } catch {
                return .failed(LiveListError.unreadableEvent(reason: "\(error)"))
            }
        }
    }

    /// Fetches all rows from the backend.
    public func snapshot() async throws -> ListSnapshot<Row> { try await fetch() }

    /// Hands an edit in to the backend.
    ///
    /// - Parameter commit: The edit.
    /// - Returns: The revision that it led to.
    /// - Throws: A ``LiveListError`` when it is refused, and ``LiveListError/readOnly`` when the source
    ///   has no way to commit; another error when there was no answer.
    public func commit(_ commit: ListCommit<Row>) async throws -> UInt64? {
        guard let write else { throw LiveListError.readOnly }
        return try await write(commit)
    }
}

extension Channel {
    /// Subscribes, and tells what the channel's events mean to a list.
    ///
    /// - Parameters:
    ///   - tell: Takes the next event.
    ///   - read: What an event means; `nil` when it is none of the list's.
    /// - Throws: What ends the channel's events.
    func followEvents<Row: LiveRow>(
        _ tell: @escaping @Sendable (SourceEvent<Row>) async -> Void,
        _ read: (ChannelEvent) -> SourceEvent<Row>?
    ) async throws {
        // Made before the subscription, so that the first event is not missed.
        let events = events(bufferLimit: 4096)
        subscribe()
        let refusals = Task {
            do {
                try await waitUntilSubscribed()
            } catch is CancellationError {
            } catch {
                await tell(.failed(error))
            }
        }
        defer { refusals.cancel() }
        // Somebody else may have subscribed before, and then no event says so.
        if isSubscribed { await tell(.subscribed) }
        for try await event in events {
            if event.name == "pusher:subscription_succeeded" {
                await tell(.subscribed)
            } else if let meant = read(event) {
                await tell(meant)
            }
        }
        // An unsubscribed channel stays so; a client that is disconnected may connect again.
        if client.status == .disconnected { throw FanfareError.disconnected }
    }
}
