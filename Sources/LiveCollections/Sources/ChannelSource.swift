public import FanfareClient

/// A source with a channel for the changes and a backend for the rows and edits.
///
/// The list's events contain a revision, a mutation and operations by id, as JSON:
/// `{"revision":13,"mutation":"…","operations":[{"op":"move","id":7,"after":3}]}`. After each
/// subscription, and when a revision is missing, all rows are fetched.
public struct ChannelSource<Row: LiveRow & Codable>: LiveSource
where Row.ID: Sendable & Codable {
    private let channel: Channel
    private let event: String
    private let fetch: @Sendable () async throws -> ListSnapshot<Row>
    private let write: (@Sendable (ListCommit<Row>) async throws -> UInt64?)?

    /// Creates a source from a channel and closures.
    ///
    /// - Parameters:
    ///   - channel: The channel; it is subscribed to.
    ///   - event: The name of the event with a change.
    ///   - snapshot: Fetches all rows.
    ///   - commit: Sends an edit and returns its revision; a ``LiveListError`` refuses it, any other error means that
    ///     there is no answer. Without the closure the list is read-only.
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

    /// Subscribes and sends each change until the task is cancelled.
    public func listen(_ handler: @escaping @Sendable (SourceEvent<Row>) async -> Void) async throws
    {
        try await channel.followEvents(handler) { event in
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

extension Channel {
    /// Subscribes and sends the channel's events as events of a list.
    ///
    /// - Parameters:
    ///   - handler: Called with each event.
    ///   - read: Converts an event; returns `nil` for one that is not the list's.
    /// - Throws: The error that ends the channel's events.
    func followEvents<Row: LiveRow>(
        _ handler: @escaping @Sendable (SourceEvent<Row>) async -> Void,
        _ read: (ChannelEvent) -> SourceEvent<Row>?
    ) async throws {
        let deliveries = subscription().deliveries()
        // Already subscribed elsewhere: then no subscription event follows.
        var hasBegun = isSubscribed
        if hasBegun { await handler(.subscribed) }
        for try await delivery in deliveries {
            switch delivery {
            case .event(let event, _):
                if event.name == "pusher:subscription_succeeded" {
                    // Later ones follow a gap.
                    if !exchange(&hasBegun, with: true) { await handler(.subscribed) }
                } else if let converted = read(event) {
                    await handler(converted)
                }
            case .gap: await handler(.subscribed)
            case .recovered, .undecodable: break
            }
        }
    }
}
