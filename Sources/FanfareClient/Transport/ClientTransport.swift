import PusherProtocol

/// Opens WebSocket connections for clients.
///
/// The default uses the package's own sockets on Linux and `URLSession` elsewhere. A test can use a transport without a
/// network.
public protocol ClientTransport: Sendable {
    /// Starts to open a connection and returns at once.
    ///
    /// - Parameters:
    ///   - request: The address and the limits.
    ///   - receiver: Receives the connection's events, in order. It must not be called from within `open` or a method
    ///     of the connection, since the client calls those under its lock.
    /// - Returns: The connection. It may be used before it is open.
    func open(
        _ request: TransportRequest,
        receiver: any TransportReceiver
    ) -> any TransportConnection
}

/// The address and the limits of a connection.
public struct TransportRequest: Sendable {
    /// The broker.
    public var endpoint: Endpoint
    /// The path and query, including the endpoint's prefix.
    public var target: String
    /// The WebSocket subprotocols to offer.
    public var subprotocols: [String]
    /// The certificates to trust, with a secure endpoint.
    public var trust: ClientOptions.Trust
    /// The proxy, if any.
    public var proxy: ClientOptions.Proxy = .system
    /// The longest message to accept, in bytes; a longer one ends the connection (1009).
    public var messageLengthMax: Int
    /// The time limit for name lookup, TCP, TLS and the opening handshake together.
    public var timeout: Duration
}

/// A WebSocket connection, open or being opened.
///
/// Its methods never block.
public protocol TransportConnection: Sendable {
    /// Sends a text message.
    func send(_ text: [UInt8])
    /// Sends what is queued and a close frame, then closes the connection within a few seconds.
    func close(code: UInt16, reason: String)
    /// Stops reading, so that back-pressure reaches the broker.
    func pauseReading()
    /// Resumes reading.
    func resumeReading()
}

/// Receives the events of a connection, one call at a time.
public protocol TransportReceiver: AnyObject, Sendable {
    /// Called when the opening handshake has succeeded.
    func transportOpened()
    /// Called with each text message, which is valid during the call.
    func transportReceived(_ text: Span<UInt8>)
    /// Called for each ping and pong, which prove that the connection is alive.
    func transportHeard()
    /// Called when the connection has ended or could not be opened. The last call.
    func transportClosed(_ closure: TransportClosure)
}

/// How a connection ended.
public enum TransportClosure: Sendable, Equatable {
    /// A close frame was received; `code` is `nil` if it had none.
    case closeFrame(code: UInt16?, reason: String)
    /// The connection ended without a close frame.
    case cut(reason: String)
    /// The connection could not be opened: name lookup, TCP or TLS failed.
    case unreachable(reason: String)
    /// A certificate is not trusted, or the trusted certificates cannot be read.
    case untrusted(reason: String)
    /// The proxy was not reached, or refused the tunnel.
    case proxyFailed(reason: String)
    /// The response to the opening handshake was not an upgrade.
    case upgradeRefused(reason: String)
    /// Closed by this side after a protocol violation.
    case protocolViolation(String)
}

/// The default transport.
enum DefaultTransport {
    #if os(Linux)
        /// The package's own sockets, on epoll.
        static let shared: any ClientTransport = SocketTransport()
    #else
        /// The platform's own WebSocket.
        static let shared: any ClientTransport = URLSessionTransport()
    #endif
}

/// Forwards the events of one connection to its client.
final class ConnectionReceiver: TransportReceiver, PendingCallbacksReporting {
    let pendingCallbacks: PendingCallbacks
    private let client: Fanfare
    /// The number of the connection in its client, from one.
    private let number: Int

    init(_ client: Fanfare, number: Int, _ pendingCallbacks: PendingCallbacks) {
        self.pendingCallbacks = pendingCallbacks
        self.client = client
        self.number = number
    }

    func transportOpened() {}

    func transportReceived(_ text: Span<UInt8>) {
        do throws(MessageError) {
            let message = try ServerMessage.parse(text)
            client.receive(from: number) { $0.receive(message, at: $1) }
        } catch {
            let fault = "a message of the broker cannot be parsed: \(error)"
            client.receive(from: number) { $0.receiveInvalid(fault, at: $1) }
        }
    }

    func transportHeard() {
        client.receive(from: number) { session, now in
            session.received(at: now)
            return []
        }
    }

    func transportClosed(_ closure: TransportClosure) {
        client.receive(from: number) { $0.closed(closure, at: $1) }
    }
}
