#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// An element of a sequence that delivers the app's state, then the channel's events that follow it.
public enum StateDelivery<State: Sendable, Value: Sendable>: Sendable {
    /// The state; it replaces everything delivered before.
    case state(State)
    /// An event that follows the state, and its position if the broker numbers the channel's events.
    case event(Value, at: ChannelPosition?)
    /// An event whose data cannot be decoded; the sequence continues.
    case undecodable(ChannelEvent, FanfareError)
}

extension StateDelivery: Equatable where State: Equatable, Value: Equatable {}

extension ChannelSubscription {
    /// Returns a state of the app, and the channel's events that follow it.
    ///
    /// ```swift
    /// let orders = client.channel("orders").subscription()
    /// for try await delivery in orders.deliveries(behind: { try await backend.orders() }) {
    ///     switch delivery {
    ///     case .state(let orders): list.show(orders)
    ///     case .event(let event, _): list.apply(event)
    ///     case .undecodable: break
    ///     }
    /// }
    /// ```
    ///
    /// The state is loaded when the broker has confirmed the subscription. Events that arrive meanwhile are delivered
    /// after it. An event that the state already contains is delivered again, unless `position` shows that the state
    /// contains it.
    ///
    /// After a disconnect the state is not loaded again if the broker has kept the missed events; they are delivered.
    /// After a gap the state is loaded again. A state that is known to be older than the gap is not delivered.
    ///
    /// A lease with a position begins without a state if no event was missed since, because the app has the state of
    /// that position. The same applies to all leases of a client with ``ClientOptions/Recovery/positions``.
    ///
    /// If loading fails, the error is reported to ``Fanfare/onError(perform:)`` with
    /// ``FanfareError/Code/stateNotLoaded``. The state is loaded again after a delay
    /// (``ClientOptions/Reconnection/backoff``).
    ///
    /// - Parameters:
    ///   - event: The event's name; `nil` for all, with those of the protocol.
    ///   - load: Loads the state. It should have a time limit: while it loads, events wait for it, with the limit and
    ///     the consequence of ``ClientOptions/Limits/pendingCallbackCountMax``. After a gap the state is loaded again.
    ///   - position: The channel position that the state is known to contain, from the backend; `nil` if unknown.
    ///     Events up to it are left out, and a state from before the subscription is loaded again.
    /// - Returns: A sequence that holds the lease. Each iterator loads its own state.
    public func deliveries<State: Sendable>(
        _ event: String? = nil,
        behind load: @escaping @Sendable () async throws -> State,
        at position: @escaping @Sendable (State) -> ChannelPosition? = { _ in nil }
    ) -> Updates<StateDelivery<State, ChannelEvent>, FanfareError> {
        follow(event, load, position) { $0 }
    }

    /// Returns a state of the app, and the decoded data of the channel's events of one name that follow it.
    ///
    /// See ``deliveries(_:behind:at:)``.
    ///
    /// - Parameters:
    ///   - event: The event's name and type.
    ///   - decoder: The decoder; `nil` for ``ClientOptions/decoder``.
    ///   - load: Loads the state.
    ///   - position: The channel position that the state is known to contain; `nil` if unknown.
    /// - Returns: A sequence that holds the lease.
    public func deliveries<Payload, State: Sendable>(
        of event: EventName<Payload>,
        decoder: JSONDecoder? = nil,
        behind load: @escaping @Sendable () async throws -> State,
        at position: @escaping @Sendable (State) -> ChannelPosition? = { _ in nil }
    ) -> Updates<StateDelivery<State, Payload>, FanfareError> {
        let decode = channel.client.decode(Payload.self, with: decoder)
        return follow(event.text, load, position, decode)
    }

    private func follow<State: Sendable, Value: Sendable>(
        _ event: String?,
        _ load: @escaping @Sendable () async throws -> State,
        _ position: @escaping @Sendable (State) -> ChannelPosition?,
        _ decode: @escaping @Sendable (ChannelEvent) throws(FanfareError) -> Value
    ) -> Updates<StateDelivery<State, Value>, FanfareError> {
        let topic = Topic(channel: channel.name, event: event)
        let source = BufferSource { [weak client = channel.client] in
            client?.follow(topic, for: self)
        }
        return Updates {
            let reader = StateReader(source.takeBuffer(), of: self, load, position, decode)
            return { actor async throws(FanfareError) in try await reader.next(isolation: actor) }
        }
    }
}
