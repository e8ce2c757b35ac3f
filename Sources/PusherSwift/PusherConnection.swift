internal import FanfareClient
public import Foundation

/// The connection of a ``Pusher``.
open class PusherConnection: NSObject {
    /// The app's public key.
    public let key: String
    /// The broker's URL.
    public let url: String
    /// The options that the client was made with.
    public let options: PusherClientOptions
    /// The channels.
    public let channels = PusherChannels()
    let client: FanfareClient
    private let delegation: Delegation

    init(key: String, options: PusherClientOptions) {
        self.key = key
        self.options = options
        var clientOptions = ClientOptions()
        clientOptions.reconnects = options.autoReconnect
        if let seconds = options.activityTimeout {
            clientOptions.activityTimeout = .seconds(seconds)
        }
        let port = UInt16(clamping: options.port)
        let path = options.path ?? ""
        let endpoint: Endpoint =
            options.useTLS
            ? .secure(host: options.host, port: port, pathPrefix: path)
            : .plain(host: options.host, port: port, pathPrefix: path)
        url = "\(endpoint)/app/\(key)"
        client = FanfareClient(key: key, endpoint: endpoint, options: clientOptions)
        delegation = Delegation()
        super.init()
        delegation.observe(client)
    }

    /// A client that nobody holds any more has nobody to call back.
    deinit { client.disconnect() }

    /// Who is told what happens.
    open var delegate: (any PusherDelegate)? {
        get { delegation.delegate }
        set { delegation.delegate = newValue }
    }

    /// Where the connection stands.
    open var connectionState: ConnectionState { ConnectionState(client.status) }

    /// What the broker calls the connection; `nil` without one.
    open var socketId: String? { client.socketID }

    /// Connects, and stays connected until ``disconnect()``.
    open func connect() { client.connect() }

    /// Ends the connection, or any attempt at one, for good.
    open func disconnect() { client.disconnect() }
}

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
