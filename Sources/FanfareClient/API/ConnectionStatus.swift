/// Where a client's connection stands.
public enum ConnectionStatus: Sendable, Equatable {
    /// Before ``FanfareClient/connect()`` and after ``FanfareClient/disconnect()``.
    case disconnected
    /// A connection is being opened; `attempt` counts from one since the last good connection.
    case connecting(attempt: Int)
    /// The broker answers, and calls this connection `socketID`.
    case connected(socketID: String)
    /// The last connection or attempt ended; the next one starts after `delay`.
    case waiting(delay: Duration, because: FanfareError)
    /// The broker does not want this client, whose fault has to be mended first: nothing happens
    /// until ``FanfareClient/connect()`` is called again.
    case failed(because: FanfareError)

    /// Whether events arrive.
    public var isConnected: Bool {
        if case .connected = self { true } else { false }
    }
}
