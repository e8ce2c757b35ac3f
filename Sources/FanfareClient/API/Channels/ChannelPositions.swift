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

    /// Returns the continuity of each confirmation of the subscription, from now on, as a sequence.
    ///
    /// The sequence continues after a disconnect. It ends when the channel is unsubscribed, and throws when the
    /// subscription is refused or the client fails. If too many elements wait for a reader, it gets a gap instead
    /// (``Gap/Reason/overflow``).
    ///
    /// - Returns: A sequence for one task.
    public func continuities() -> Updates<Continuity, FanfareError> {
        Updates(client.continuityBuffer(of: name))
    }
}

extension Fanfare {
    /// Adds the buffer of a new reader of a channel's continuities.
    fileprivate func continuityBuffer(of channel: String) -> EventBuffer<Continuity> {
        let buffer = EventBuffer<Continuity>(
            policy: .reportsLoad(
                limit: options.limits.maxPendingCallbacks,
                byteLimit: .max,
                overflow: .gap(Gap(.overflow))
            ),
            drained: { [weak self] reader, load in self?.drained(reader, load) }
        )
        state.withLock { state in
            if let error = state.ending(of: channel) {
                buffer.finish(throwing: error)
            } else {
                state.continuitySequences[channel].add(buffer)
            }
        }
        return buffer
    }
}
