import Primitives

/// Loads a state of the app, then reads the channel's events that follow it, for one iterator.
///
/// A state that is known to be obsolete is not delivered: if events were lost while it was loaded, the reader drops it
/// with all events before the loss.
///
///     the channel      confirmed   e1   e2   gap   e3
///     the reader       load ─────────────────────▶ load ──▶ state, e3
final class StateReader<State: Sendable, Value: Sendable> {
    private let lease: ChannelSubscription
    private let buffer: EventBuffer<FollowedEvent>
    private let load: @Sendable () async throws -> State
    private let position: @Sendable (State) -> ChannelPosition?
    private let decode: @Sendable (ChannelEvent) throws(FanfareError) -> Value
    /// Whether the app has a state: a loaded one, or that of the position where the lease began.
    private var hasState: Bool
    /// The position of the loaded state; the state includes the events up to it.
    private var loaded: ChannelPosition?

    init(
        _ buffer: EventBuffer<FollowedEvent>,
        of lease: ChannelSubscription,
        _ load: @escaping @Sendable () async throws -> State,
        _ position: @escaping @Sendable (State) -> ChannelPosition?,
        _ decode: @escaping @Sendable (ChannelEvent) throws(FanfareError) -> Value
    ) {
        self.buffer = buffer
        self.lease = lease
        self.load = load
        self.position = position
        self.decode = decode
        hasState =
            lease.start.position != nil || lease.channel.client.options.recovery.positions != nil
    }

    /// Waits for the next delivery; `nil` at the end and when the task is cancelled.
    func next(
        isolation: isolated (any Actor)?
    ) async throws(FanfareError) -> StateDelivery<State, Value>? {
        while let next = try await buffer.next(isolation: isolation) {
            switch next {
            case .confirmed(.resumed, _, _) where hasState: break
            case .confirmed(_, let start, let handling):
                // Handled once the state is loaded.
                defer { withExtendedLifetime(handling) {} }
                if let state = await loadState(from: start, isolation: isolation) {
                    return .state(state)
                }
            case .event(let event, let position):
                guard hasState, !isInState(position) else { break }
                if let loaded, let position, loaded.stream != position.stream {
                    // The start was not known, after an overflow. The state is of an earlier stream, or of the next one.
                    if let state = await loadState(from: position, isolation: isolation) {
                        return .state(state)
                    }
                    break
                }
                return deliver(event, at: position)
            }
            if Task.isCancelled { return nil }
        }
        return nil
    }

    /// Loads the state until it is as recent as the subscription.
    ///
    /// - Parameters:
    ///   - start: The position at which the subscription begins; `nil` if the broker keeps no positions.
    ///   - isolation: The caller's actor.
    /// - Returns: The state; `nil` when the task is cancelled or the sequence has ended.
    private func loadState(
        from start: ChannelPosition?,
        isolation: isolated (any Actor)?
    ) async -> State? {
        let client = lease.channel.client
        hasState = false
        var start = start
        var failures = 0
        var random = SystemRandomNumberGenerator()
        while !Task.isCancelled, !buffer.hasEnded {
            let fault: String
            do {
                let state = try await load()
                // The channel may have gone on without telling the reader.
                guard !Task.isCancelled, !buffer.hasEnded else { break }
                if case .confirmed(_, let other, _) = buffer.skip(toLast: \.isLoss) {
                    start = other
                    continue
                }
                let position = position(state)
                if let start, let position, !start.precedes(position) {
                    fault = "\(position) is before the subscription, which begins at \(start)"
                } else {
                    loaded = position
                    hasState = true
                    return state
                }
            } catch {
                fault = "\(error)"
            }
            guard !Task.isCancelled, !buffer.hasEnded else { break }
            client.report(.stateNotLoaded(channel: lease.channel.name, reason: fault))
            let delay = client.options.reconnection.backoff.delay(
                failures: failures,
                using: &random
            )
            failures += 1
            let clock = client.options.clock
            try? await clock.sleep(clock.now() + delay)
        }
        return nil
    }

    private func deliver(
        _ event: ChannelEvent,
        at position: ChannelPosition?
    ) -> StateDelivery<State, Value> {
        do throws(FanfareError) {
            return .event(try decode(event), at: position)
        } catch {
            return .undecodable(event, error)
        }
    }

    private func isInState(_ position: ChannelPosition?) -> Bool {
        guard let loaded, let position else { return false }
        return position.precedes(loaded)
    }
}

extension Fanfare {
    /// Adds the buffer of a reader that loads a state before the channel's events.
    ///
    /// If the channel is already subscribed, the buffer begins with a confirmation, because the reader has missed the
    /// original one; none is needed if the reader has the state of the channel's position.
    func follow(
        _ topic: Topic,
        for lease: ChannelSubscription
    ) -> EventBuffer<FollowedEvent> {
        let buffer = EventBuffer<FollowedEvent>(
            policy: .reportsLoad(
                limit: options.limits.pendingCallbackCountMax,
                byteLimit: options.limits.pendingCallbackBytesMax,
                overflow: .confirmed(.gap(Gap(.overflow)), at: nil, nil)
            ),
            drained: { [weak self] reader, load in self?.drained(reader, load) }
        )
        lease.add(buffer)
        state.withLock { state in
            if let error = state.ending(of: topic.channel) {
                return buffer.finish(throwing: error)
            }
            state.events.followers[topic].add(buffer, from: lease.start)
            guard let subscription = state.session.subscriptions[of: lease.channel.name] else {
                return
            }
            let position = subscription.tracking.position
            if let start = lease.start.position {
                guard let gap = subscription.gap(from: start) else { return }
                buffer.send(.confirmed(.gap(gap), at: position, nil))
            } else if subscription.state == .subscribed {
                buffer.send(.confirmed(.began, at: position, nil))
            }
        }
        return buffer
    }
}
