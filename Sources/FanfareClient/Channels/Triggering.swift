import PusherProtocol

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// What has become of a client event.
public enum ClientEventDelivery: Sendable, Hashable {
    /// It has left.
    case sent
    /// It waits for the subscription, or for its turn; what is dropped after all is told to
    /// ``FanfareClient/onError(perform:)``.
    case queued
}

extension Channel {
    /// Sends an event to the others on a private or presence channel.
    ///
    /// Until the channel is subscribed to, it waits, as it does when more are sent than a broker takes
    /// (``ClientOptions/clientEventsPerSecond``). What a broker refuses comes to ``FanfareClient/onError(perform:)``.
    ///
    /// - Parameters:
    ///   - event: The event's name, which begins with `client-`.
    ///   - data: Becomes JSON.
    ///   - encoder: Decides on dates, keys and so on.
    /// - Returns: Whether it has left or waits.
    /// - Throws: ``FanfareError/clientEventRefused(event:channel:reason:)``: nothing was sent.
    @discardableResult
    public func trigger<Payload: Encodable>(
        _ event: String,
        _ data: Payload,
        encoder: JSONEncoder = JSONEncoder()
    ) throws(FanfareError) -> ClientEventDelivery {
        let json: Data
        do {
            json = try encoder.encode(data)
        } catch {
            throw .clientEventRefused(
                event: event,
                channel: name,
                reason: "its data cannot be written as JSON: \(error)"
            )
        }
        return try client.trigger(event, on: name, json: Array(json))
    }

    /// Sends an event to the others on a private or presence channel.
    ///
    /// - Parameters:
    ///   - event: The event's name, which begins with `client-`, and the type of its data.
    ///   - payload: Becomes JSON.
    ///   - encoder: Decides on dates, keys and so on.
    /// - Returns: Whether it has left or waits.
    /// - Throws: ``FanfareError/clientEventRefused(event:channel:reason:)``: nothing was sent.
    @discardableResult
    public func trigger<Payload: Encodable>(
        _ event: EventName<Payload>,
        _ payload: Payload,
        encoder: JSONEncoder = JSONEncoder()
    ) throws(FanfareError) -> ClientEventDelivery {
        try trigger(event.text, payload, encoder: encoder)
    }

    /// Sends an event whose data is JSON text already to the others on a private or presence channel.
    ///
    /// - Parameters:
    ///   - event: The event's name, which begins with `client-`.
    ///   - json: One JSON value, which is sent as it is.
    /// - Returns: Whether it has left or waits.
    /// - Throws: ``FanfareError/clientEventRefused(event:channel:reason:)``: nothing was sent.
    @discardableResult
    public func trigger(
        _ event: String,
        json: String
    ) throws(FanfareError) -> ClientEventDelivery {
        let bytes = Array(json.utf8)
        guard (try? JSONScanner.scan(bytes.span)) != nil else {
            throw .clientEventRefused(event: event, channel: name, reason: "its data is no JSON")
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
