import Primitives

/// The positions of a channel, and whether its subscription continues without loss.
extension Channel {
    /// The position up to which the app has handled the channel's events: callbacks have returned, sequences have been
    /// read.
    ///
    /// `nil` before the first confirmation, while the channel is unsubscribed, and if the broker numbers no events.
    /// Pass it to a later ``subscribe(from:rewind:fresh:)`` to continue there; with
    /// ``ClientOptions/Recovery/positions`` the client does so itself.
    public var position: ChannelPosition? { client.position(of: name) }

    /// Calls `perform` at each confirmation of the subscription, before the events that follow.
    ///
    /// The callback stays bound after a disconnect. After the reconnection it receives
    /// ``Continuity/resumed(replayed:)`` if nothing is missing. On any other value, load the current state.
    ///
    /// - Parameter perform: Called in the order of the events, on the actor that it is isolated to.
    /// - Returns: A token. Releasing it keeps the callback.
    @discardableResult
    public func onContinuity(
        @_inheritActorContext perform:
            @escaping @Sendable @isolated(any) (Continuity) -> Void
    ) -> ListenerToken {
        client.listen(to: \.continuities[name], perform)
    }
}

extension Fanfare {
    /// The positions up to which the app has handled its channels' events, by channel; see ``Channel/position``.
    public var positions: [String: ChannelPosition] {
        state.withLock { state in
            state.handled.filter { !state.session.subscriptions.hasLeft($0.key) }
                .compactMapValues(\.position)
        }
    }
}
