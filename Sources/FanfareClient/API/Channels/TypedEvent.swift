#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// One event of a ``TypedChannel``: binds callbacks to it, reads it and sends it.
public struct TypedEvent<Payload: Decodable & Sendable>: Sendable, Hashable {
    /// The event's name and type.
    public let name: EventName<Payload>
    /// The channel.
    public let channel: Channel

    /// Calls `perform` with each event's data.
    ///
    /// Data that cannot be decoded as `Payload` is reported to ``Fanfare/onError(perform:)``.
    ///
    /// - Parameter perform: Called in the order of the events, on the actor that it is isolated to.
    /// - Returns: A token. Releasing it keeps the callback.
    @discardableResult
    public func bind(
        @_inheritActorContext perform:
            @escaping @Sendable @isolated(any) (Payload) -> Void
    ) -> ListenerToken {
        let topic = Topic(channel: channel.name, event: name.text)
        return channel.client.listen(to: topic, decoder: nil, perform)
    }

    /// Returns the data of the events from now on, with a lease of the channel.
    ///
    /// - Returns: A sequence that holds the lease.
    public func deliveries() -> Deliveries<Payload> {
        channel.subscription().deliveries(of: name)
    }
}

extension TypedEvent where Payload: Encodable {
    /// Sends the event to the other subscribers of a private or presence channel, once the channel is subscribed.
    ///
    /// - Parameters:
    ///   - payload: The value to encode as JSON.
    ///   - encoder: The encoder; `nil` for ``ClientOptions/encoder``.
    /// - Returns: The pending event; ``PendingEvent/delivery()`` waits for its outcome.
    /// - Throws: A ``FanfareError`` with ``FanfareError/Code/clientEventRefused``: nothing was sent.
    @discardableResult
    public func trigger(
        _ payload: Payload,
        encoder: JSONEncoder? = nil
    ) throws(FanfareError) -> PendingEvent {
        try channel.trigger(name, payload, encoder: encoder)
    }
}
