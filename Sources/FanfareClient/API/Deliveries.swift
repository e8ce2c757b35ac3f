#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The events of a channel as an asynchronous sequence, which also reports gaps.
///
/// Every iterator receives every event: the first iterator from the creation of the sequence on, others from their own
/// creation on. While a reader is too far behind, the client holds back the channel, and requests the events again
/// later. A reader that is stuck gets a gap: ``ClientOptions/Limits/pendingCallbackCountMax``.
///
/// The sequence continues after a disconnect: after the next subscription it delivers ``Delivery/recovered(count:)`` or
/// ``Delivery/gap(_:)``. ``Fanfare/disconnect()`` suspends it until the next ``Fanfare/connect()``. It ends when the
/// channel is unsubscribed, and throws when the subscription is refused or the client fails.
public typealias Deliveries<Value: Sendable> = Updates<Delivery<Value>, FanfareError>

extension Fanfare {
    /// Returns the deliveries of a topic; the sequence and its iterators hold the lease.
    func deliveries<Value>(
        of topic: Topic,
        holding lease: ChannelSubscription?,
        decode: @escaping @Sendable (ChannelEvent) throws(FanfareError) -> Value
    ) -> Deliveries<Value> {
        let source = BufferSource { [weak self] in
            let buffer = self?.buffer(topic, from: lease?.start)
            if let buffer { lease?.add(buffer) }
            return buffer
        }
        return Updates {
            let buffer = source.takeBuffer()
            return { actor async throws(FanfareError) in
                // The channel stays subscribed while the sequence is read.
                defer { withExtendedLifetime(lease) {} }
                return try await buffer.next(isolation: actor)?.decoded(by: decode)
            }
        }
    }

    /// Returns the events of a topic alone; data that cannot be decoded is reported as an error.
    func events<Value>(
        of topic: Topic,
        holding lease: ChannelSubscription?,
        decode: @escaping @Sendable (ChannelEvent) throws(FanfareError) -> Value
    ) -> Updates<Value, FanfareError> {
        let deliveries = deliveries(of: topic, holding: lease, decode: decode)
        return Updates { [weak self] in
            let next = deliveries.start()
            return { actor async throws(FanfareError) in
                while let delivery = try await next(actor) {
                    switch delivery {
                    case .event(let value, _): return value
                    case .undecodable(_, let error): self?.report(error)
                    case .recovered, .gap: break
                    }
                }
                return nil
            }
        }
    }

    /// Returns a function that decodes the data of events; without a decoder, with that of the options.
    func decode<Value: Decodable & Sendable>(
        _ type: Value.Type,
        with decoder: JSONDecoder?
    ) -> @Sendable (ChannelEvent) throws(FanfareError) -> Value {
        let decoder = decoder ?? options.decoder
        return { event throws(FanfareError) in try event.decode(with: decoder) }
    }
}
