/// The state of a client's connection.
public enum ConnectionStatus: Sendable, Equatable {
    /// Before ``Fanfare/connect()`` and after ``Fanfare/disconnect()``.
    case disconnected
    /// After ``Fanfare/suspend()``.
    case suspended
    /// A connection is being opened; `attempt` counts from one since the last stable connection.
    case connecting(attempt: Int)
    /// The connection is established, with this socket ID.
    case connected(socketID: String)
    /// The last connection or attempt ended; the next attempt starts after `delay`.
    case waiting(delay: Duration, because: FanfareError)
    /// The client has stopped: the broker refused it, or reconnecting is off or used up. Fix the cause, then call
    /// ``Fanfare/connect()`` again.
    case failed(because: FanfareError)

    /// Whether the connection is established.
    public var isConnected: Bool {
        if case .connected = self { true } else { false }
    }
}

/// A client's status before and after a change.
public struct StatusChange: Sendable, Equatable {
    /// The status before the change.
    public let old: ConnectionStatus
    /// The status after it.
    public let new: ConnectionStatus
}

/// A client's status as an asynchronous sequence: the current one first, then every change.
///
/// A reader more than 64 changes behind misses the oldest, never the latest.
public struct ConnectionStates: AsyncSequence, Sendable {
    /// Iterates over the states.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let buffer: EventBuffer<ConnectionStatus>

        /// Waits for the next status.
        public nonisolated(nonsending) mutating func next() async -> ConnectionStatus? {
            await next(isolation: #isolation)
        }

        /// Waits for the next status, on the caller's actor.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async -> ConnectionStatus? {
            // The buffer keeps the newest elements: it never overflows, and is never finished with an error.
            try? await buffer.next(isolation: actor)
        }
    }

    let buffer: EventBuffer<ConnectionStatus>

    /// Returns an iterator.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(buffer: buffer) }
}
