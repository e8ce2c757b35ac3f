import Synchronization

/// The positions of a channel, and what its subscription says about the time before.
extension Channel {
    /// The position up to which the app has handled the channel's events: its callbacks have returned, and its sequences
    /// have been read.
    ///
    /// `nil` before the first confirmation, after the channel was unsubscribed, and if the broker numbers no events. A later
    /// ``subscribe(from:rewind:)`` goes on from it; ``ClientOptions/positions`` does so by itself.
    public var position: ChannelPosition? { client.position(of: name) }

    /// Calls `perform` with each confirmation of the subscription, ahead of the events that follow.
    ///
    /// On a cut the callback stays. Behind the reconnection it is called with ``Continuity/resumed(replayed:)`` if nothing
    /// is missing; with anything else, load the current state.
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

    /// Returns what each confirmation of the subscription says, from now on, as a sequence.
    ///
    /// On a cut the sequence goes on. It ends when the channel is unsubscribed, and throws when the subscription is refused
    /// or the client fails. A reader that is behind holds up its client's reading.
    ///
    /// - Returns: A sequence for one task.
    public func continuities() -> Updates<Continuity, FanfareError> {
        Updates(client.continuityBuffer(of: name))
    }
}

extension Fanfare {
    /// Adds the buffer of a new reader of what a channel's confirmations say.
    fileprivate func continuityBuffer(of channel: String) -> EventBuffer<Continuity> {
        let buffer = EventBuffer<Continuity>(
            policy: .reportsLoad(
                limit: options.maxPendingCallbacks,
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
