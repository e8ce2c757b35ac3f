internal import FanfareClient

/// The state of a connection.
public enum ConnectionState: Int, Sendable {
    /// A connection is being opened.
    case connecting
    /// The connection is established.
    case connected
    /// The connection is being closed.
    case disconnecting
    /// There is no connection and no attempt to open one.
    case disconnected
    /// The connection was lost; the next attempt starts after a delay.
    case reconnecting

    /// Version 4's state while the network was unreachable.
    @available(*, deprecated, renamed: "reconnecting")
    public static var reconnectingWhenNetworkBecomesReachable: ConnectionState { .reconnecting }

    init(_ status: ConnectionStatus) {
        switch status {
        case .disconnected, .suspended, .failed: self = .disconnected
        case .connecting: self = .connecting
        case .connected: self = .connected
        case .waiting: self = .reconnecting
        }
    }

    /// The state's name.
    public func stringValue() -> String {
        switch self {
        case .connecting: "connecting"
        case .connected: "connected"
        case .disconnecting: "disconnecting"
        case .disconnected: "disconnected"
        case .reconnecting: "reconnecting"
        }
    }
}
