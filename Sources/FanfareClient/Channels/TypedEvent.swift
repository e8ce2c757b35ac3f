public import Dispatch

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// One event of a ``TypedChannel``: where to bind to it, to read it, and to send it.
public struct TypedEvent<Payload: Decodable & Sendable>: Sendable, Hashable {
    /// The event's name and type.
    public let name: EventName<Payload>
    /// The channel.
    public let channel: Channel

    /// Calls back on the main actor with each event's data.
    ///
    /// Data that is no `Payload` goes to ``FanfareClient/onError(perform:)`` instead.
    ///
    /// - Parameter perform: Called in the order of the events.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func bind(perform: @escaping @MainActor @Sendable (Payload) -> Void) -> Binding {
        channel.bind(name, perform: perform)
    }

    /// Calls back on a serial queue with each event's data; as ``bind(perform:)``.
    ///
    /// - Parameters:
    ///   - queue: A serial queue.
    ///   - perform: Called in the order of the events.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func bind(
        on queue: DispatchQueue,
        perform: @escaping @Sendable (Payload) -> Void
    ) -> Binding { channel.bind(name, on: queue, perform: perform) }

    /// Calls back on an executor with each event's data; as ``bind(perform:)``.
    ///
    /// - Parameters:
    ///   - place: The executor.
    ///   - perform: Called in the order of the events.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func bind(
        on place: CallbackPlace,
        perform: @escaping @Sendable (Payload) -> Void
    ) -> Binding { channel.bind(name, on: place, perform: perform) }

    /// Calls back on the actor that this is called from with each event's data; as ``bind(perform:)``.
    ///
    /// - Parameters:
    ///   - isolation: `#isolation`, where that is an actor.
    ///   - perform: Called in the order of the events, until the actor is gone.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func bind(
        isolation: isolated any Actor,
        perform: @escaping (Payload) -> Void
    ) -> Binding { channel.bind(name, isolation: isolation, perform: perform) }

    /// The data of the events from now on.
    ///
    /// Made before the channel is subscribed to, the sequence misses not one.
    ///
    /// - Parameter bufferLimit: How many unread events are held before the sequence ends by an error.
    /// - Returns: A sequence for one task.
    public func events(bufferLimit: Int = 1024) -> DecodedEvents<Payload> {
        channel.events(name, bufferLimit: bufferLimit)
    }
}

extension TypedEvent where Payload: Encodable {
    /// Sends the event to the others on a private or presence channel, as soon as that is subscribed to.
    ///
    /// - Parameters:
    ///   - payload: Becomes JSON.
    ///   - encoder: Decides on dates, keys and so on.
    /// - Returns: Whether it has left or waits.
    /// - Throws: ``FanfareError/clientEventRefused(event:channel:reason:)``: nothing was sent.
    @discardableResult
    public func trigger(
        _ payload: Payload,
        encoder: JSONEncoder = JSONEncoder()
    ) throws(FanfareError) -> ClientEventDelivery {
        try channel.trigger(name, payload, encoder: encoder)
    }
}
