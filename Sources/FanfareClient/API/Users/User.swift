#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
import Primitives

/// The user of a client: the sign-in, the events sent to the user, and the watchlist.
///
/// ```swift
/// client.user.bind("message") { event in print(event.data ?? "") }
/// client.signIn()
/// ```
public struct User: Sendable {
    /// The client.
    public let client: Fanfare

    /// The signed-in user of the current connection, if any.
    public var current: SignedInUser? { client.state.withLock { $0.session.signIn.user } }

    /// The users on the watchlist whose state the broker has reported on this connection.
    public var watchlist: Watchlist { client.state.withLock { $0.session.signIn.watchlist } }

    // MARK: Events

    /// Calls `perform` for each event that a backend sends to the user.
    ///
    /// - Parameters:
    ///   - event: The event's name; `nil` for all.
    ///   - perform: Called in the order of the events, on the actor that it is isolated to.
    /// - Returns: A token. Releasing it keeps the callback.
    @discardableResult
    public func bind(
        _ event: String? = nil,
        @_inheritActorContext perform:
            @escaping @Sendable @isolated(any) (ChannelEvent) -> Void
    ) -> ListenerToken {
        client.listen(to: \.events.callbacks[topic(event)], perform)
    }

    /// Calls `perform` with the decoded data of each event with this name for the user.
    ///
    /// Data that cannot be decoded as `Payload` is reported to ``Fanfare/onError(perform:)``.
    ///
    /// - Parameters:
    ///   - event: The event's name and type.
    ///   - decoder: The decoder; `nil` for ``ClientOptions/decoder``.
    ///   - perform: Called in the order of the events, on the actor that it is isolated to.
    /// - Returns: A token. Releasing it keeps the callback.
    @discardableResult
    public func bind<Payload>(
        _ event: EventName<Payload>,
        decoder: JSONDecoder? = nil,
        @_inheritActorContext perform:
            @escaping @Sendable @isolated(any) (Payload) -> Void
    ) -> ListenerToken {
        client.listen(to: topic(event.text), decoder: decoder, perform)
    }

    /// Returns the events that a backend sends to the user from now on, also after a sign-in as another user.
    ///
    /// - Parameter event: The event's name; `nil` for all.
    /// - Returns: A sequence.
    public func deliveries(_ event: String? = nil) -> Deliveries<ChannelEvent> {
        client.deliveries(of: topic(event), holding: nil) { $0 }
    }

    /// Returns the decoded data of the events of one name that a backend sends to the user, from now on.
    ///
    /// - Parameters:
    ///   - event: The event's name and type.
    ///   - decoder: The decoder; `nil` for ``ClientOptions/decoder``.
    /// - Returns: A sequence.
    public func deliveries<Payload>(
        of event: EventName<Payload>,
        decoder: JSONDecoder? = nil
    ) -> Deliveries<Payload> {
        let decode = client.decode(Payload.self, with: decoder)
        return client.deliveries(of: topic(event.text), holding: nil, decode: decode)
    }

    /// Calls `perform` at each confirmation of the user's own channel, before the events that follow.
    ///
    /// See ``Channel/onContinuity(perform:)``. A sign-in as another user is ``Continuity/gap(_:)``.
    ///
    /// - Parameter perform: Called in the order of the events, on the actor that it is isolated to.
    /// - Returns: A token. Releasing it keeps the callback.
    @discardableResult
    public func onContinuity(
        @_inheritActorContext perform:
            @escaping @Sendable @isolated(any) (Continuity) -> Void
    ) -> ListenerToken {
        client.listen(to: \.continuities[Topic.user], perform)
    }

    /// Returns the topic of the user's events, which is independent of the user's ID.
    private func topic(_ event: String?) -> Topic { Topic(channel: Topic.user, event: event) }

    // MARK: Watchlist

    /// Calls `perform` with every change of the watchlist.
    ///
    /// - Parameter perform: Called in the order of the changes, on the actor that it is isolated to.
    /// - Returns: A token. Releasing it keeps the callback.
    @discardableResult
    public func onWatchlistChange(
        @_inheritActorContext perform:
            @escaping @Sendable @isolated(any) (WatchlistChange) -> Void
    ) -> ListenerToken {
        client.listen(to: \.watchlists, perform)
    }
}
