import Primitives

/// The events of a channel as an asynchronous sequence, which also reports gaps.
///
/// Every iterator receives every event: the first iterator from the creation of the sequence on, others from their own
/// creation on. While a reader is too far behind, the client holds back the channel, and requests the events again
/// later. A reader that is stuck gets a gap: ``ClientOptions/Limits/maxPendingCallbacks``.
///
/// The sequence continues after a disconnect: after the next subscription it delivers ``Delivery/recovered(count:)`` or
/// ``Delivery/gap(_:)``. ``Fanfare/disconnect()`` suspends it until the next ``Fanfare/connect()``. It ends when the
/// channel is unsubscribed, and throws when the subscription is refused or the client fails.
public struct Deliveries<Value: Sendable>: AsyncSequence, Sendable {
    /// Iterates over the deliveries.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let buffer: EventBuffer<Delivery<ChannelEvent>>
        let decode: @Sendable (ChannelEvent) throws(FanfareError) -> Value
        /// Retained so that the channel stays subscribed while the sequence is read.
        let lease: ChannelSubscription?

        /// Waits for the next delivery.
        public nonisolated(nonsending) mutating func next() async throws(FanfareError) -> Delivery<
            Value
        >? {
            try await next(isolation: #isolation)
        }

        /// Waits for the next delivery, on the caller's actor.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(FanfareError) -> Delivery<Value>? {
            try await buffer.next(isolation: actor)?.decoded(by: decode)
        }
    }

    private let source: BufferSource<Delivery<ChannelEvent>>
    private let lease: ChannelSubscription?
    private let decode: @Sendable (ChannelEvent) throws(FanfareError) -> Value

    init(
        _ topic: Topic,
        of client: Fanfare,
        lease: ChannelSubscription?,
        decode: @escaping @Sendable (ChannelEvent) throws(FanfareError) -> Value
    ) {
        source = BufferSource { [weak client] in
            let buffer = client?.buffer(topic, from: lease?.start)
            if let buffer { lease?.add(buffer) }
            return buffer
        }
        self.lease = lease
        self.decode = decode
    }

    /// Returns an iterator.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(buffer: source.takeBuffer(), decode: decode, lease: lease)
    }
}

/// Creates the buffers of a sequence's iterators; the first buffer is filled from the creation of the sequence on.
final class BufferSource<Element: Sendable>: Sendable {
    private let make: @Sendable () -> EventBuffer<Element>?
    private let first: Lock<EventBuffer<Element>?>

    /// Creates a source; `make` returns a buffer that the client fills, or `nil` once the client is released.
    init(_ make: @escaping @Sendable () -> EventBuffer<Element>?) {
        self.make = make
        first = Lock(make())
    }

    func takeBuffer() -> EventBuffer<Element> {
        if let buffer = first.withLock({ $0.take() }) ?? make() { return buffer }
        let ended = EventBuffer<Element>(policy: .keepsNewest(limit: 1))
        ended.finish()
        return ended
    }
}
