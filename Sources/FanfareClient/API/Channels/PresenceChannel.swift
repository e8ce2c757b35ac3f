import Primitives

/// The members of a presence channel.
///
/// ```swift
/// let presence = client.subscribe("presence-room").presence
/// presence.onJoin { member in print(member.id, "is here") }
/// ```
///
/// Each successful subscription replaces the list with the broker's, so the list is exact again after a reconnection;
/// the changes in between are reported as joined and left. While the client is disconnected, the list is the last known
/// one. There is none before the first success and after ``Channel/unsubscribe()``.
public struct PresenceChannel: Sendable, Hashable {
    /// The channel.
    public let channel: Channel

    /// All members; `nil` before the broker has sent the list.
    public var roster: PresenceRoster? { channel.client.roster(of: channel.name) }

    /// The members as a sequence: the current ones first, if known, then every change.
    ///
    /// Each iterator reads at its own pace. An iterator that is behind receives one change with all differences from
    /// the members that it has read. The sequence continues after a disconnect, and ends when the channel is
    /// unsubscribed.
    public var changes: Updates<PresenceChange, FanfareError> {
        Updates { [channel] in
            let buffer = channel.client.rosterBuffer(channel.name)
            var read: PresenceRoster?
            return { actor async throws(FanfareError) in
                guard let roster = try await buffer.next(isolation: actor) else { return nil }
                return PresenceChange(from: exchange(&read, with: roster), to: roster)
            }
        }
    }

    /// Calls `perform` with every change, including the first list.
    ///
    /// - Parameter perform: Called in the order of the changes, on the actor that it is isolated to.
    /// - Returns: A token. Releasing it keeps the callback.
    @discardableResult
    public func onChange(
        @_inheritActorContext perform:
            @escaping @Sendable @isolated(any) (PresenceChange) -> Void
    ) -> ListenerToken {
        channel.client.listen(to: \.presence[channel.name], perform)
    }

    /// Calls `perform` for each user who joins; not for the members of the first list.
    ///
    /// - Parameter perform: Called in the order of the changes, on the actor that it is isolated to.
    /// - Returns: A token. Releasing it keeps the callback.
    @discardableResult
    public func onJoin(
        @_inheritActorContext perform:
            @escaping @Sendable @isolated(any) (PresenceMember) -> Void
    ) -> ListenerToken {
        channel.client.add(
            Callback(perform, orElse: channel.client.callbackActor).flatMap(\.joined),
            to: \.presence[channel.name]
        )
    }

    /// Calls `perform` for each user who leaves.
    ///
    /// - Parameter perform: Called in the order of the changes, on the actor that it is isolated to.
    /// - Returns: A token. Releasing it keeps the callback.
    @discardableResult
    public func onLeave(
        @_inheritActorContext perform:
            @escaping @Sendable @isolated(any) (PresenceMember) -> Void
    ) -> ListenerToken {
        channel.client.add(
            Callback(perform, orElse: channel.client.callbackActor).flatMap(\.left),
            to: \.presence[channel.name]
        )
    }
}

extension Channel {
    /// The members of this channel, if it is a presence channel.
    public var presence: PresenceChannel { PresenceChannel(channel: self) }
}

extension Fanfare {
    func roster(of channel: String) -> PresenceRoster? {
        state.withLock { $0.session.subscriptions[of: channel]?.roster }
    }

    /// Adds the buffer of a new reader of a channel's members; it begins with the current ones.
    func rosterBuffer(_ channel: String) -> EventBuffer<PresenceRoster> {
        let buffer = EventBuffer<PresenceRoster>(policy: .keepsNewest(limit: 1))
        state.withLock { state in
            if let error = state.ending(of: channel) { return buffer.finish(throwing: error) }
            if let roster = state.session.subscriptions[of: channel]?.roster { buffer.send(roster) }
            state.rosters[channel].add(buffer)
        }
        return buffer
    }
}
