/// Opens WebSocket connections.
package protocol TransportOpener: Sendable {
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
package struct TransportRequest: Sendable {
    /// The broker.
    package var endpoint: Endpoint
    /// The path and query, including the endpoint's prefix.
    package var target: String
    /// The WebSocket subprotocols to offer.
    package var subprotocols: [String]
    /// The certificates to trust, with a secure endpoint.
    package var trust: ClientOptions.Trust
    /// The proxy, if any.
    package var proxy: ClientOptions.Proxy = .system
    /// The longest message to accept, in bytes; a longer one ends the connection (1009).
    package var messageLengthMax: Int
    /// The time limit for name lookup, TCP, TLS and the opening handshake together.
    package var timeout: Duration

    package init(
        endpoint: Endpoint,
        target: String,
        subprotocols: [String],
        trust: ClientOptions.Trust,
        proxy: ClientOptions.Proxy = .system,
        messageLengthMax: Int,
        timeout: Duration
    ) {
        self.endpoint = endpoint
        self.target = target
        self.subprotocols = subprotocols
        self.trust = trust
        self.proxy = proxy
        self.messageLengthMax = messageLengthMax
        self.timeout = timeout
    }
}

/// A WebSocket connection, open or being opened.
///
/// Its methods never block.
package protocol TransportConnection: Sendable {
    /// Sends a text message.
    func send(_ text: [UInt8])
    /// Sends the queued messages and a close frame, then closes the connection within a few seconds.
    func close(code: UInt16, reason: String)
    /// Stops reading, so that back-pressure reaches the broker.
    func pauseReading()
    /// Resumes reading.
    func resumeReading()
}

/// Receives the events of a connection, one call at a time.
package protocol TransportReceiver: AnyObject, Sendable {
    /// Called when the opening handshake has succeeded.
    func transportOpened()
    /// Called with each text message, which is valid during the call.
    func transportReceived(_ text: Span<UInt8>)
    /// Called for each ping and pong, which prove that the connection is alive.
    func transportHeard()
    /// Called last, when the connection has ended or could not be opened.
    func transportClosed(_ closure: TransportClosure)
}

/// The way a connection ended.
package enum TransportClosure: Sendable, Equatable {
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
