/// A client's values as they change, as an asynchronous sequence: events, statuses, members, watchlists.
///
/// The method that returns the sequence documents its first value, how far a reader may be behind, and when it ends.
public struct Updates<Element: Sendable, Failure: Error>: AsyncSequence, Sendable {
    /// Returns the next value; `nil` at the end and when the task is cancelled.
    typealias Next = (isolated (any Actor)?) async throws(Failure) -> Element?

    /// Iterates over the values.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let read: Next

        /// Waits for the next value.
        public nonisolated(nonsending) mutating func next() async throws(Failure) -> Element? {
            try await next(isolation: #isolation)
        }

        /// Waits for the next value, on the caller's actor.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(Failure) -> Element? {
            try await read(actor)
        }
    }

    /// Starts to read.
    let start: @Sendable () -> Next

    /// Returns an iterator.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(read: start()) }
}

extension Updates where Failure == FanfareError {
    /// Creates a sequence of a buffer's elements, for one reader.
    init(_ buffer: EventBuffer<Element>) {
        start = {
            { actor async throws(FanfareError) in try await buffer.next(isolation: actor) }
        }
    }
}

extension Updates where Failure == Never {
    /// Creates a sequence of the elements of a buffer that keeps the newest and never ends with an error, for one
    /// reader.
    init(_ buffer: EventBuffer<Element>) {
        start = { { actor in try? await buffer.next(isolation: actor) } }
    }
}
