internal import FanfareClient

/// Where a connection stands.
public enum ConnectionState: Int, Sendable {
    /// A connection is being opened.
    case connecting
    /// Events arrive.
    case connected
    /// The connection is being closed.
    case disconnecting
    /// There is no connection, and none will be opened.
    case disconnected
    /// The connection was lost and will be opened again after a pause.
    case reconnecting

    /// What version 4 said while the network was away.
    @available(*, deprecated, renamed: "reconnecting")
    public static var reconnectingWhenNetworkBecomesReachable: ConnectionState { .reconnecting }

    init(_ status: ConnectionStatus) {
        switch status {
        case .disconnected, .failed: self = .disconnected
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
