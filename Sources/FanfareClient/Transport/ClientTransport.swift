/// Opens WebSocket connections for clients.
///
/// The default goes over the project's own sockets on Linux and over `URLSession` elsewhere. Another
/// one can carry a client in a way of its own, or in a test over no network at all.
public protocol ClientTransport: Sendable {
    /// Begins to open a connection and returns at once.
    ///
    /// - Parameters:
    ///   - request: Where to, and within which limits.
    ///   - receiver: Is told what happens, in order, never from within a call of `open` or of a
    ///     method of the connection: the client calls those while it holds its lock.
    /// - Returns: The connection, which may be used before it is open: what is sent early waits.
    func open(
        _ request: TransportRequest,
        receiver: any TransportReceiver
    ) -> any TransportConnection
}

/// Where a connection goes, and what the other side may make this one hold.
public struct TransportRequest: Sendable {
    /// The broker.
    public var endpoint: Endpoint
    /// Path and query to ask for, with the endpoint's prefix.
    public var target: String
    /// The WebSocket subprotocols to offer.
    public var subprotocols: [String]
    /// Whom to trust, with a secure endpoint.
    public var trust: ClientOptions.Trust
    /// By which proxy to go, if by any.
    public var proxy: ClientOptions.Proxy = .system
    /// The longest message to accept, in bytes; a longer one ends the connection (1009).
    public var messageLengthMax: Int
    /// How long names, addresses, TLS and the opening handshake may take together.
    public var timeout: Duration
}

/// One WebSocket connection, or the attempt at one, whose methods never block.
public protocol TransportConnection: Sendable {
    /// Sends a text message.
    func send(_ text: [UInt8])
    /// Closes politely: sends what waits and a close frame, and lets go within a few seconds.
    func close(code: UInt16, reason: String)
    /// Stops reading, so that the broker notices that this side is slow.
    func pauseReading()
    /// Reads on.
    func resumeReading()
}

/// Is told what happens on a connection, one call at a time.
public protocol TransportReceiver: AnyObject, Sendable {
    /// The opening handshake is done.
    func transportOpened()
    /// A text message came; it is lent for the time of the call.
    func transportReceived(_ text: Span<UInt8>)
    /// A ping or a pong came, which proves that the other side lives.
    func transportHeard()
    /// The connection ended, or never came about. Nothing is told after this.
    func transportClosed(_ closure: TransportClosure)
}

/// How a connection ended.
public enum TransportClosure: Sendable, Equatable {
    /// With a close frame; `code` is `nil` if it had none.
    case closeFrame(code: UInt16?, reason: String)
    /// Without one: the other side, or the network, cut it.
    case cut(reason: String)
    /// Before it was open: name, address or TLS.
    case unreachable(reason: String)
    /// Before it was open: a certificate is not trusted, or what is to be trusted cannot be read.
    case untrusted(reason: String)
    /// Before it was open: the proxy was not reached, or refused to go on.
    case proxyFailed(reason: String)
    /// By an answer to the opening handshake that agrees to nothing.
    case upgradeRefused(reason: String)
    /// By this side, since the other one broke a rule.
    case protocolViolation(String)
}
