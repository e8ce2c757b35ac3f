/// Events as an asynchronous sequence.
///
/// It collects from the moment it is made, and holds what has not been read, up to its limit. When
/// more come, nothing is dropped in silence: what is held is delivered, and then the sequence ends
/// by throwing ``FanfareError/overflow(limit:)``. It collects until it is let go of, or until the
/// client is disconnected or the channel unsubscribed from, which ends it. One task reads it.
public struct Events: AsyncSequence, Sendable {
    /// Reads the events, one after the other.
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

    /// Begins to read.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(buffer: buffer) }
}

/// Events of one name, decoded.
///
/// An event whose data is no `Payload` throws ``FanfareError/undecodable(event:type:reason:)``
/// and ends the loop, but not the sequence: a new loop goes on with the next event. Otherwise as
/// ``Events``.
public struct DecodedEvents<Payload: Decodable & Sendable>: AsyncSequence, Sendable {
    /// Reads the payloads, one after the other.
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

    /// Begins to read.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(buffer: buffer) }
}

/// A client's status as an asynchronous sequence: the current one first, then every change.
///
/// A reader who falls more than 64 changes behind misses the oldest of them, never the latest.
public struct ConnectionStates: AsyncSequence, Sendable {
    /// Reads the statuses, one after the other.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let buffer: EventBuffer<ConnectionStatus>

        /// Waits for the next status.
        public mutating func next() async -> ConnectionStatus? {
            await next(isolation: nil)
        }

        /// Waits for the next status, on the caller's actor.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async -> ConnectionStatus? {
            // The buffer keeps the newest, so it never overflows, and nobody ends it by an error.
            try? await buffer.next(isolation: actor)
        }
    }

    let buffer: EventBuffer<ConnectionStatus>

    /// Begins to read.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(buffer: buffer) }
}
