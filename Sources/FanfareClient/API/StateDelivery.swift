#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// What a sequence delivers that joins a state of the app and the channel's events behind it.
public enum StateDelivery<State: Sendable, Value: Sendable>: Sendable {
    /// The state, which replaces what was delivered before.
    case state(State)
    /// An event that follows the state, and its position if the broker numbers the channel's events.
    case event(Value, at: ChannelPosition?)
    /// An event whose data cannot be decoded; the sequence goes on.
    case undecodable(ChannelEvent, FanfareError)
}

extension StateDelivery: Equatable where State: Equatable, Value: Equatable {}

extension ChannelSubscription {
    /// A state of the app, and the channel's events that follow it.
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
    /// The state is loaded when the broker has confirmed the subscription. Events that arrive meanwhile are delivered behind
    /// it; one that the state contains already comes again, unless `position` tells. On a cut nothing is loaded if the
    /// broker has kept what was missed, which is delivered. Behind a gap the state is loaded again, and never delivered if
    /// it is known to be older than the gap.
    ///
    /// A lease with a position, and any of a client with ``ClientOptions/positions``, begins without a state if nothing is
    /// missed since: the app has the state of that position.
    ///
    /// A state that fails to load is reported to ``Fanfare/onError(perform:)`` with ``FanfareError/Code/stateNotLoaded``, and
    /// loaded again after a delay (``ClientOptions/backoff``).
    ///
    /// - Parameters:
    ///   - event: The event's name; `nil` for all, with those of the protocol.
    ///   - load: Loads the state. It should have a time limit: the client stops reading while too many events wait.
    ///   - position: The channel's position that the state is known to contain, from the backend; `nil` if it is unknown.
    ///     Events up to it are left out, and a state from before the subscription is loaded again.
    /// - Returns: A sequence, which holds the lease. Every iterator loads a state of its own.
    public func deliveries<State: Sendable>(
        _ event: String? = nil,
        behind load: @escaping @Sendable () async throws -> State,
        at position: @escaping @Sendable (State) -> ChannelPosition? = { _ in nil }
    ) -> Updates<StateDelivery<State, ChannelEvent>, FanfareError> {
        follow(event, load, position) { $0 }
    }

    /// A state of the app, and the decoded data of the channel's events of one name that follow it; as
    /// ``deliveries(_:behind:at:)``.
    ///
    /// - Parameters:
    ///   - event: The event's name and type.
    ///   - decoder: The decoder; `nil` for ``ClientOptions/decoder``.
    ///   - load: Loads the state.
    ///   - position: The channel's position that the state is known to contain; `nil` if it is unknown.
    /// - Returns: A sequence, which holds the lease.
    public func deliveries<Payload, State: Sendable>(
        of event: EventName<Payload>,
        decoder: JSONDecoder? = nil,
        behind load: @escaping @Sendable () async throws -> State,
        at position: @escaping @Sendable (State) -> ChannelPosition? = { _ in nil }
    ) -> Updates<StateDelivery<State, Payload>, FanfareError> {
        let decoder = decoder ?? channel.client.options.decoder
        return follow(event.text, load, position) { event throws(FanfareError) in
            try event.decode(with: decoder)
        }
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
