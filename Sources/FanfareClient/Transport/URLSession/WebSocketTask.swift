/// What a connection needs of a `URLSessionWebSocketTask`; a test has tasks of its own.
///
/// No method calls a completion before it returns. Completions come one at a time, as a session
/// with a serial delegate queue has them.
protocol WebSocketTask: Sendable {
    /// The code of the close frame that came; 0 before, and 1005 for a frame without one.
    var receivedCloseCode: Int { get }
    /// The reason in that frame.
    var receivedCloseReason: String { get }

    /// Begins to connect.
    func resume()
    /// Sends a text message behind those before it.
    func send(_ text: String, completion: @escaping @Sendable ((any Error)?) -> Void)
    /// Waits for one message.
    func receive(completion: @escaping @Sendable (Result<WebSocketTaskMessage, any Error>) -> Void)
    /// Sends a close frame and ends the connection.
    func close(code: UInt16, reason: String)
    /// Ends the connection at once, or the attempt at one.
    func cancel()
}

/// A message as a task receives it.
enum WebSocketTaskMessage: Sendable, Equatable {
    case text(String)
    case binary
}
