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
    /// The client has stopped: the broker refused it, reconnecting is off, or no attempts are left.
    ///
    /// Fix the cause, then call ``Fanfare/connect()`` again.
    case failed(because: FanfareError)

    /// Whether the connection is established.
    public var isConnected: Bool {
        if case .connected = self { true } else { false }
    }
}

/// A client's status before and after a change.
package struct StatusChange: Sendable, Equatable {
    /// The status before the change.
    package let old: ConnectionStatus
    /// The status after it.
    package let new: ConnectionStatus
}
