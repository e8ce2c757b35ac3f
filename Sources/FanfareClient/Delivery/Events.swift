/// Events as an asynchronous sequence.
///
/// It buffers events from its creation, up to its limit. When the buffer is full, the buffered events are delivered and
/// the sequence ends by throwing ``FanfareError/overflow(limit:)``. It also ends when the client disconnects or the
/// channel is unsubscribed. To be read by one task.
public struct Events: AsyncSequence, Sendable {
    /// Iterates over the events.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let buffer: EventBuffer<ChannelEvent>

        /// Waits for the next event.
        public mutating func next() async throws(FanfareError) -> ChannelEvent? {
            try await buffer.next()
        }

        /// Waits for the next event, on the caller's actor.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(FanfareError) -> ChannelEvent? {
            try await buffer.next(isolation: actor)
        }
    }

    let buffer: EventBuffer<ChannelEvent>

    /// Returns an iterator.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(buffer: buffer) }
}

/// The decoded events of one name.
///
/// An event whose data cannot be decoded as `Payload` throws ``FanfareError/undecodable(event:type:reason:)``, which
/// ends the loop but not the sequence: a new loop continues with the next event. Otherwise as ``Events``.
public struct DecodedEvents<Payload: Decodable & Sendable>: AsyncSequence, Sendable {
    /// Iterates over the payloads.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let buffer: EventBuffer<ChannelEvent>

        /// Waits for the next event's payload.
        public mutating func next() async throws(FanfareError) -> Payload? {
            try await buffer.next()?.decode()
        }

        /// Waits for the next event's payload, on the caller's actor.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(FanfareError) -> Payload? {
            try await buffer.next(isolation: actor)?.decode()
        }
    }

    let buffer: EventBuffer<ChannelEvent>

    /// Returns an iterator.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(buffer: buffer) }
}
