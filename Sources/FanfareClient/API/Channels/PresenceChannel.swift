public import Dispatch
import Synchronization

/// Who is on a presence channel.
///
/// ```swift
/// let presence = client.subscribe("presence-room").presence
/// presence.onJoin { member in print(member.id, "is here") }
/// ```
///
/// The list is the broker's: it is replaced with every success of the subscription, so that it is exact after a lost
/// connection too, and what has changed meanwhile is told as joined and left. While there is no connection it is what
/// was known last; it is empty before the first success and after ``Channel/unsubscribe()``.
public struct PresenceChannel: Sendable, Hashable {
    /// The channel.
    public let channel: Channel

    /// Everybody who is there; `nil` before the broker has told.
    public var roster: PresenceRoster? { channel.client.roster(of: channel.name) }

    /// Everybody who is there; empty before the broker has told.
    public var members: [PresenceMember] { roster?.members ?? [] }

    /// How many users are there.
    public var count: Int { roster?.count ?? 0 }

    /// The user whom this client is; `nil` before the broker has told.
    public var me: PresenceMember? { roster?.me }

    /// Who is there now, if the broker has told, and then every change.
    ///
    /// - Parameter bufferLimit: How many unread changes are held before the sequence ends by an error.
    /// - Returns: A sequence for one task.
    public func changes(bufferLimit: Int = 1024) -> PresenceChanges {
        PresenceChanges(buffer: channel.client.presenceBuffer(channel.name, limit: bufferLimit))
    }

    /// Calls back on the main actor with every change, the first list included.
    ///
    /// - Parameter perform: Called in the order of the changes.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func onChange(
        perform: @escaping @MainActor @Sendable (PresenceChange) -> Void
    ) -> Binding {
        onChange(on: .main) { change in MainActor.assumeIsolated { perform(change) } }
    }

    /// Calls back on a serial queue with every change, the first list included.
    ///
    /// - Parameters:
    ///   - queue: A serial queue.
    ///   - perform: Called in the order of the changes.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func onChange(
        on queue: DispatchQueue,
        perform: @escaping @Sendable (PresenceChange) -> Void
    ) -> Binding {
        channel.client.onPresence(channel.name, on: .queue(queue), perform)
    }

    /// Calls back on the main actor for each user who comes; not for those who were there before.
    ///
    /// - Parameter perform: Called in the order of the changes.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func onJoin(
        perform: @escaping @MainActor @Sendable (PresenceMember) -> Void
    ) -> Binding {
        onJoin(on: .main) { member in MainActor.assumeIsolated { perform(member) } }
    }

    /// Calls back on a serial queue for each user who comes; not for those who were there before.
    ///
    /// - Parameters:
    ///   - queue: A serial queue.
    ///   - perform: Called in the order of the changes.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func onJoin(
        on queue: DispatchQueue,
        perform: @escaping @Sendable (PresenceMember) -> Void
    ) -> Binding {
        onChange(on: queue) { change in for member in change.joined { perform(member) } }
    }

    /// Calls back on the main actor for each user who goes.
    ///
    /// - Parameter perform: Called in the order of the changes.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func onLeave(
        perform: @escaping @MainActor @Sendable (PresenceMember) -> Void
    ) -> Binding {
        onLeave(on: .main) { member in MainActor.assumeIsolated { perform(member) } }
    }

    /// Calls back on a serial queue for each user who goes.
    ///
    /// - Parameters:
    ///   - queue: A serial queue.
    ///   - perform: Called in the order of the changes.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func onLeave(
        on queue: DispatchQueue,
        perform: @escaping @Sendable (PresenceMember) -> Void
    ) -> Binding {
        onChange(on: queue) { change in for member in change.left { perform(member) } }
    }
}

extension Channel {
    /// Who is on this channel, if it is a presence channel.
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
        on place: CallbackExecutor,
        _ callback: @escaping @Sendable (PresenceChange) -> Void
    ) -> Binding {
        add(to: \.presence[channel], on: place, callback)
    }
}
