import PusherProtocol

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Whether a client event was sent or queued.
public enum ClientEventDelivery: Sendable, Hashable {
    /// The event was sent.
    case sent
    /// The event waits for the subscription or for the rate limit. If it is dropped later,
    /// ``FanfareClient/onError(perform:)`` reports it.
    case queued
}

extension Channel {
    /// Sends an event to the other subscribers of a private or presence channel.
    ///
    /// The event is queued until the channel is subscribed and while the rate limit is exceeded
    /// (``ClientOptions/clientEventsPerSecond``). Errors from the broker go to ``FanfareClient/onError(perform:)``.
    ///
    /// - Parameters:
    ///   - event: The event's name, which begins with `client-`.
    ///   - data: The value to encode as JSON.
    ///   - encoder: The encoder; `nil` for ``ClientOptions/encoder``.
    /// - Returns: Whether the event was sent or queued.
    /// - Throws: ``FanfareError/clientEventRefused(event:channel:reason:)``: nothing was sent.
    @discardableResult
    public func trigger<Payload: Encodable>(
        _ event: String,
        _ data: Payload,
        encoder: JSONEncoder? = nil
    ) throws(FanfareError) -> ClientEventDelivery {
        let json: Data
        do {
            json = try (encoder ?? client.options.encoder).encode(data)
        } catch {
            throw .clientEventRefused(
                event: event,
                channel: name,
                reason: "its data cannot be encoded as JSON: \(error)"
            )
        }
        return try client.trigger(event, on: name, json: Array(json))
    }

    /// Sends an event to the other subscribers of a private or presence channel.
    ///
    /// - Parameters:
    ///   - event: The event's name, which begins with `client-`, and the type of its data.
    ///   - payload: The value to encode as JSON.
    ///   - encoder: The encoder; `nil` for ``ClientOptions/encoder``.
    /// - Returns: Whether the event was sent or queued.
    /// - Throws: ``FanfareError/clientEventRefused(event:channel:reason:)``: nothing was sent.
    @discardableResult
    public func trigger<Payload: Encodable>(
        _ event: EventName<Payload>,
        _ payload: Payload,
        encoder: JSONEncoder? = nil
    ) throws(FanfareError) -> ClientEventDelivery {
        try trigger(event.text, payload, encoder: encoder)
    }

    /// Sends an event with data that is JSON text to the other subscribers of a private or presence channel.
    ///
    /// - Parameters:
    ///   - event: The event's name, which begins with `client-`.
    ///   - json: One JSON value, sent unchanged.
    /// - Returns: Whether the event was sent or queued.
    /// - Throws: ``FanfareError/clientEventRefused(event:channel:reason:)``: nothing was sent.
    @discardableResult
    public func trigger(
        _ event: String,
        json: String
    ) throws(FanfareError) -> ClientEventDelivery {
        let bytes = Array(json.utf8)
        guard (try? JSONScanner.scan(bytes.span)) != nil else {
            throw .clientEventRefused(event: event, channel: name, reason: "its data is not JSON")
        }
        return try client.trigger(event, on: name, json: bytes)
    }
}

extension FanfareClient {
    func trigger(
        _ event: String,
        on channel: String,
        json: [UInt8]
    ) throws(FanfareError) -> ClientEventDelivery {
        var outcome: Result<Bool, FanfareError> = .success(false)
        act { session in
            do throws(FanfareError) {
                let now = options.clock.now()
                let (effects, wasSent) = try session.trigger(
                    event,
                    on: channel,
                    json: json,
                    at: now
                )
                outcome = .success(wasSent)
                return effects
            } catch {
                outcome = .failure(error)
                return []
            }
        }
        return try outcome.get() ? .sent : .queued
    }
}
