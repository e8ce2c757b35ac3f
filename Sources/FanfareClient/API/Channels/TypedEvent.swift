public import Dispatch

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// One event of a ``TypedChannel``, to bind to, read and send.
public struct TypedEvent<Payload: Decodable & Sendable>: Sendable, Hashable {
    /// The event's name and type.
    public let name: EventName<Payload>
    /// The channel.
    public let channel: Channel

    /// Calls `perform` on the main actor with each event's data.
    ///
    /// Data that cannot be decoded as `Payload` is reported to ``FanfareClient/onError(perform:)``.
    ///
    /// - Parameter perform: Called in the order of the events.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func bind(perform: @escaping @MainActor @Sendable (Payload) -> Void) -> Binding {
        channel.bind(name, perform: perform)
    }

    /// Calls `perform` on a serial queue with each event's data; otherwise as ``bind(perform:)``.
    ///
    /// - Parameters:
    ///   - queue: A serial queue.
    ///   - perform: Called in the order of the events.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func bind(
        on queue: DispatchQueue,
        perform: @escaping @Sendable (Payload) -> Void
    ) -> Binding { channel.bind(name, on: queue, perform: perform) }

    /// Calls `perform` on an executor with each event's data; otherwise as ``bind(perform:)``.
    ///
    /// - Parameters:
    ///   - executor: The executor.
    ///   - perform: Called in the order of the events.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func bind(
        on executor: CallbackExecutor,
        perform: @escaping @Sendable (Payload) -> Void
    ) -> Binding { channel.bind(name, on: executor, perform: perform) }

    /// Calls `perform` on the caller's actor with each event's data; otherwise as ``bind(perform:)``.
    ///
    /// - Parameters:
    ///   - isolation: The caller's actor: `#isolation`.
    ///   - perform: Called in the order of the events, until the actor is deallocated.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func bind(
        isolation: isolated any Actor,
        perform: @escaping (Payload) -> Void
    ) -> Binding { channel.bind(name, isolation: isolation, perform: perform) }

    /// The data of the events from now on.
    ///
    /// Made before the channel is subscribed to, the sequence misses no event.
    ///
    /// - Parameter bufferLimit: The most unread events; past it the sequence throws ``FanfareError/overflow(limit:)``.
    /// - Returns: A sequence for one task.
    public func events(bufferLimit: Int = 1024) -> DecodedEvents<Payload> {
        channel.events(name, bufferLimit: bufferLimit)
    }
}

extension TypedEvent where Payload: Encodable {
    /// Sends the event to the other subscribers of a private or presence channel, once it is subscribed.
    ///
    /// - Parameters:
    ///   - payload: The value to encode as JSON.
    ///   - encoder: The encoder, with its strategies for dates and keys.
    /// - Returns: Whether the event was sent or queued.
    /// - Throws: ``FanfareError/clientEventRefused(event:channel:reason:)``: nothing was sent.
    @discardableResult
    public func trigger(
        _ payload: Payload,
        encoder: JSONEncoder = JSONEncoder()
    ) throws(FanfareError) -> ClientEventDelivery {
        try channel.trigger(name, payload, encoder: encoder)
    }
}
