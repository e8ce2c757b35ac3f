public import Dispatch
import Synchronization

/// The members of a presence channel.
///
/// ```swift
/// let presence = client.subscribe("presence-room").presence
/// presence.onJoin { member in print(member.id, "is here") }
/// ```
///
/// Each successful subscription replaces the list with the broker's, so it is exact again after a lost connection;
/// changes in between are reported as joined and left. Without a connection it is the last known list. It is empty
/// before the first success and after ``Channel/unsubscribe()``.
public struct PresenceChannel: Sendable, Hashable {
    /// The channel.
    public let channel: Channel

    /// All members; `nil` before the broker has sent the list.
    public var roster: PresenceRoster? { channel.client.roster(of: channel.name) }

    /// All members; empty before the broker has sent the list.
    public var members: [PresenceMember] { roster?.members ?? [] }

    /// The number of users.
    public var count: Int { roster?.count ?? 0 }

    /// This client's own user; `nil` before the broker has sent the list.
    public var me: PresenceMember? { roster?.me }

    /// Returns the current members, if known, and then every change.
    ///
    /// - Parameter bufferLimit: The most unread changes; past it the sequence throws ``FanfareError/overflow(limit:)``.
    /// - Returns: A sequence for one task.
    public func changes(bufferLimit: Int = 1024) -> PresenceChanges {
        PresenceChanges(buffer: channel.client.presenceBuffer(channel.name, limit: bufferLimit))
    }

    /// Calls `perform` on the main actor with every change, the first list included.
    ///
    /// - Parameter perform: Called in the order of the changes.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func onChange(
        perform: @escaping @MainActor @Sendable (PresenceChange) -> Void
    ) -> Binding {
        onChange(on: .main) { change in MainActor.assumeIsolated { perform(change) } }
    }

    /// Calls `perform` on a serial queue with every change, the first list included.
    ///
    /// - Parameters:
    ///   - queue: A serial queue.
    ///   - perform: Called in the order of the changes.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func onChange(
        on queue: DispatchQueue,
        perform: @escaping @Sendable (PresenceChange) -> Void
    ) -> Binding {
        channel.client.onPresence(channel.name, on: .queue(queue), perform)
    }

    /// Calls `perform` on the main actor for each user who joins; not for the first list.
    ///
    /// - Parameter perform: Called in the order of the changes.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func onJoin(
        perform: @escaping @MainActor @Sendable (PresenceMember) -> Void
    ) -> Binding {
        onJoin(on: .main) { member in MainActor.assumeIsolated { perform(member) } }
    }

    /// Calls `perform` on a serial queue for each user who joins; not for the first list.
    ///
    /// - Parameters:
    ///   - queue: A serial queue.
    ///   - perform: Called in the order of the changes.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func onJoin(
        on queue: DispatchQueue,
        perform: @escaping @Sendable (PresenceMember) -> Void
    ) -> Binding {
        onChange(on: queue) { change in for member in change.joined { perform(member) } }
    }

    /// Calls `perform` on the main actor for each user who leaves.
    ///
    /// - Parameter perform: Called in the order of the changes.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func onLeave(
        perform: @escaping @MainActor @Sendable (PresenceMember) -> Void
    ) -> Binding {
        onLeave(on: .main) { member in MainActor.assumeIsolated { perform(member) } }
    }

    /// Calls `perform` on a serial queue for each user who leaves.
    ///
    /// - Parameters:
    ///   - queue: A serial queue.
    ///   - perform: Called in the order of the changes.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func onLeave(
        on queue: DispatchQueue,
        perform: @escaping @Sendable (PresenceMember) -> Void
    ) -> Binding {
        onChange(on: queue) { change in for member in change.left { perform(member) } }
    }
}

extension Channel {
    /// The members of this channel, if it is a presence channel.
    public var presence: PresenceChannel { PresenceChannel(channel: self) }
}

extension FanfareClient {
    func roster(of channel: String) -> PresenceRoster? {
        state.withLock { $0.session.subscriptions[of: channel]?.roster }
    }

    func presenceBuffer(_ channel: String, limit: Int) -> EventBuffer<PresenceChange> {
        let buffer = EventBuffer<PresenceChange>(limit: limit, policy: .endsWithError)
        state.withLock { state in
            if let roster = state.session.subscriptions[of: channel]?.roster {
                buffer.send(PresenceChange(roster: roster, joined: [], left: []))
            }
            state.presence[channel].add(buffer)
        }
        return buffer
    }

    func onPresence(
        _ channel: String,
        on executor: CallbackExecutor,
        _ callback: @escaping @Sendable (PresenceChange) -> Void
    ) -> Binding {
        add(to: \.presence[channel], on: executor, callback)
    }
}
