#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Primitives

/// The registration of callbacks and sequences.
extension Fanfare {
    /// Adds a callback of an app, which runs on the actor that it is isolated to.
    func listen<Value: Sendable>(
        to listeners: any WritableKeyPath<ClientState, Listeners<Value>> & Sendable,
        _ perform: @escaping @Sendable @isolated(any) (Value) -> Void
    ) -> ListenerToken {
        add(Callback(perform, orElse: callbackActor), to: listeners)
    }

    func add<Value: Sendable>(
        _ callback: Callback<Value>,
        to listeners: any WritableKeyPath<ClientState, Listeners<Value>> & Sendable
    ) -> ListenerToken {
        state.withLock { state in
            let id = ObjectIdentifier(callback.actor)
            let queue = state.queues.queue(of: callback.actor) { [weak self] load in
                self?.drained(id, load)
            }
            let token = ListenerToken { [weak self] token in
                guard let self else { return }
                let removed = self.state.withLock { $0[keyPath: listeners].remove(token) }
                // The callback's captures are released here, outside the lock.
                _ = removed
            }
            state[keyPath: listeners].add(callback, token, on: queue)
            return token
        }
    }

    /// Adds a callback that decodes the data of events; data that cannot be decoded is reported as an error.
    func listen<Payload: Decodable & Sendable>(
        to topic: Topic,
        decoder: JSONDecoder?,
        _ perform: @escaping @Sendable @isolated(any) (Payload) -> Void
    ) -> ListenerToken {
        let decode = decode(Payload.self, with: decoder)
        let callback = Callback(perform, orElse: callbackActor)
            .compactMap { [weak self] (event: ChannelEvent) -> Payload? in
                do throws(FanfareError) {
                    return try decode(event)
                } catch {
                    self?.report(error)
                    return nil
                }
            }
        return add(callback, to: \.events.callbacks[topic])
    }

    /// Adds the buffer of a new reader of a channel's events; it ends at once if the subscription was refused.
    ///
    /// A reader that begins before the channel's position receives a gap first.
    func buffer(
        _ topic: Topic,
        from start: LeaseStart? = nil
    ) -> EventBuffer<Delivery<ChannelEvent>> {
        let buffer = EventBuffer<Delivery<ChannelEvent>>(
            policy: .reportsLoad(
                limit: options.limits.pendingCallbackCountMax,
                byteLimit: options.limits.pendingCallbackBytesMax,
                overflow: .gap(Gap(.overflow))
            ),
            drained: { [weak self] reader, load in self?.drained(reader, load) }
        )
        state.withLock { state in
            if let error = state.ending(of: topic.channel) {
                buffer.finish(throwing: error)
            } else {
                state.events.sequences[topic].add(buffer, from: start)
                guard let channel = topic.channel, let position = start?.position,
                    let gap = state.session.subscriptions[of: channel]?.gap(from: position)
                else { return }
                buffer.send(.gap(gap))
            }
        }
        return buffer
    }

    func report(_ error: FanfareError) { act { _ in [.report(error)] } }
}

extension Fanfare {
    // MARK: For a facade with callbacks on a queue

    /// Adds a callback for the events of all channels.
    @discardableResult
    package func bind(_ callback: Callback<ChannelEvent>) -> ListenerToken {
        add(callback, to: \.events.callbacks[Topic()])
    }

    /// Adds a callback for errors.
    @discardableResult
    package func onError(_ callback: Callback<FanfareError>) -> ListenerToken {
        add(callback, to: \.errors)
    }

    /// Adds a callback for changes of the status.
    @discardableResult
    package func onStatusChange(_ callback: Callback<StatusChange>) -> ListenerToken {
        add(callback, to: \.statuses)
    }

    /// Adds a callback for the members of a presence channel.
    package func onPresence(
        of channel: String,
        _ callback: Callback<PresenceChange>
    ) -> ListenerToken {
        add(callback, to: \.presence[channel])
    }
}
