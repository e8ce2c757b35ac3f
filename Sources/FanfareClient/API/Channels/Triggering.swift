import Primitives
import FanfareOutbox
import PusherProtocol

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Channel {
    /// Sends an event to the other subscribers of a private or presence channel.
    ///
    /// The event is queued until the channel is subscribed, and while the rate limit is exceeded
    /// (``ClientOptions/Limits/clientEventsPerSecond``). Errors from the broker go to ``Fanfare/onError(perform:)``.
    ///
    /// After a reconnection the client sends events without a receipt again, in order and with the same keys, so that
    /// the broker publishes each once. Brokers other than Fanfare send no receipts: with them a disconnect may lose an
    /// event.
    ///
    /// - Parameters:
    ///   - event: The event's name, which begins with `client-`.
    ///   - data: The value to encode as JSON.
    ///   - encoder: The encoder; `nil` for ``ClientOptions/encoder``.
    /// - Returns: The pending event; ``PendingEvent/delivery()`` waits for its outcome.
    /// - Throws: A ``FanfareError`` with ``FanfareError/Code/clientEventRefused``: nothing was sent.
    @discardableResult
    public func trigger<Payload: Encodable>(
        _ event: String,
        _ data: Payload,
        encoder: JSONEncoder? = nil
    ) throws(FanfareError) -> PendingEvent {
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
    /// - Returns: The pending event; ``PendingEvent/delivery()`` waits for its outcome.
    /// - Throws: A ``FanfareError`` with ``FanfareError/Code/clientEventRefused``: nothing was sent.
    @discardableResult
    public func trigger<Payload: Encodable>(
        _ event: EventName<Payload>,
        _ payload: Payload,
        encoder: JSONEncoder? = nil
    ) throws(FanfareError) -> PendingEvent {
        try trigger(event.text, payload, encoder: encoder)
    }

    /// Sends an event with data that is JSON text to the other subscribers of a private or presence channel.
    ///
    /// - Parameters:
    ///   - event: The event's name, which begins with `client-`.
    ///   - json: One JSON value, sent unchanged.
    /// - Returns: The pending event; ``PendingEvent/delivery()`` waits for its outcome.
    /// - Throws: A ``FanfareError`` with ``FanfareError/Code/clientEventRefused``: nothing was sent.
    @discardableResult
    public func trigger(
        _ event: String,
        json: String
    ) throws(FanfareError) -> PendingEvent {
        let bytes = Array(json.utf8)
        guard (try? JSONScanner.scan(bytes.span)) != nil else {
            throw .clientEventRefused(event: event, channel: name, reason: "its data is not JSON")
        }
        return try client.trigger(event, on: name, json: bytes)
    }
}

extension Fanfare {
    /// The client events without an outcome, in sending order.
    ///
    /// After ``connect()`` has read ``ClientOptions/Recovery/outbox``, they include the events that it kept from an
    /// earlier run of the app.
    public var pendingEvents: [PendingEvent] {
        state.withLock { state in
            state.session.outbox.keys.compactMap { state.pendingEvents[$0] }
        }
    }

    func trigger(
        _ event: String,
        on channel: String,
        json: [UInt8]
    ) throws(FanfareError) -> PendingEvent {
        try send(event, on: channel, json: json).pending
    }

    /// Sends or queues a client event with JSON text as data; throws the reason if it can do neither.
    package func send(
        _ event: String,
        on channel: String,
        json: [UInt8]
    ) throws(FanfareError) -> (pending: PendingEvent, isQueued: Bool) {
        let pending = PendingEvent(name: event, channel: channel)
        guard let key = IdempotencyKey(pending.key) else { preconditionFailure("a UUID is short") }
        var outcome: Result<Bool, FanfareError> = .success(false)
        act(if: {
            $0.pendingEvents[pending.key] = pending; return true
        }) { session in
            do throws(FanfareError) {
                let (effects, wasSent) = try session.trigger(
                    event,
                    on: channel,
                    json: json,
                    key: key,
                    at: options.clock.now()
                )
                outcome = .success(wasSent)
                store(pending, json)
                return effects
            } catch {
                outcome = .failure(error)
                return [.settled(key: key.text, .failure(error))]
            }
        }
        let wasSent = try outcome.get()
        loadOutbox()
        return (pending, !wasSent)
    }

    private func store(_ pending: PendingEvent, _ json: [UInt8]) {
        guard let outboxWriter else {
            return pending.settleStored(
                .failure(.outboxFailed(reason: "ClientOptions.recovery.outbox is nil"))
            )
        }
        let event = OutboxEvent(
            key: pending.key,
            name: pending.name,
            channel: pending.channel,
            data: String(decoding: json, as: UTF8.self)
        )
        outboxWriter.append(event, pending)
    }
}
