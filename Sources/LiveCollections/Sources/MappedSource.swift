public import FanfareClient
public import LiveRows

import Synchronization

/// What an event of an older backend means to a list.
public struct MappedChange<Row: LiveRow>: Sendable where Row.ID: Sendable {
    /// The edit that the event stems from, if it is one of this client's.
    public var mutation: String?
    /// What to do, in order, by the rows' ids.
    public var operations: [ListOperation<Row>]

    /// Says what an event means.
    ///
    /// - Parameters:
    ///   - mutation: The edit that the event stems from, if it is one of this client's.
    ///   - operations: What to do, in order.
    public init(mutation: String? = nil, operations: [ListOperation<Row>]) {
        self.mutation = mutation
        self.operations = operations
    }
}

/// A channel whose events are of a kind of their own and carry no revisions, such as `addUser`.
///
/// The source numbers the events itself. That notices what its own connection loses, and not what the
/// backend never told: use ``ChannelSource`` where the backend can be changed.
public final class MappedSource<Row: LiveRow>: LiveSource where Row.ID: Sendable {
    private let channel: Channel
    private let fetch: @Sendable () async throws -> [Row]
    private let read: @Sendable (ChannelEvent) throws -> MappedChange<Row>?
    private let write: (@Sendable (ListCommit<Row>) async throws -> Void)?
    private let revision = Atomic<UInt64>(0)

    /// Puts a source together from a channel and closures.
    ///
    /// - Parameters:
    ///   - channel: The channel; it is subscribed to.
    ///   - rows: Fetches all rows, in order.
    ///   - commit: Hands an edit in, and comes back when it is done; a ``LiveListError`` refuses it.
    ///     After any other error it is handed in again, so a backend that would do it twice must not
    ///     have done it. Without the closure the list is read-only.
    ///   - change: What an event means; `nil` when it is none of the list's.
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

    /// Subscribes, and tells each change until the task is cancelled.
    public func listen(_ tell: @escaping @Sendable (SourceEvent<Row>) async -> Void) async throws {
        try await channel.followEvents(tell) { event in
            do {
                guard let change = try read(event) else { return nil }
                let number = revision.wrappingAdd(1, ordering: .sequentiallyConsistent).newValue
                return .change(
                    ListChange(
                        revision: number,
                        mutation: change.mutation,
                        operations: change.operations
                    )
                )
            } catch {
                return .failed(LiveListError.unreadableEvent(reason: "\(error)"))
            }
        }
    }

    /// Fetches all rows, and numbers them as the last event that was told before.
    ///
    /// What is told while they are on their way may be in them already: operations by id may be done
    /// twice.
    public func snapshot() async throws -> ListSnapshot<Row> {
        let number = revision.load(ordering: .sequentiallyConsistent)
        return ListSnapshot(revision: number, rows: try await fetch())
    }

    /// Hands an edit in.
    ///
    /// - Parameter commit: The edit.
    /// - Returns: `nil`: the backend does not number its changes.
    /// - Throws: What the closure throws; ``LiveListError/readOnly`` without one.
    public func commit(_ commit: ListCommit<Row>) async throws -> UInt64? {
        guard let write else { throw LiveListError.readOnly }
        try await write(commit)
        return nil
    }
}
