/// What carries the requests of a ``FanfareAPI`` to its broker: sockets of this package on Linux, `URLSession` on Apple
/// platforms, something scripted in tests.
public protocol APITransport: Sendable {
    /// Sends one request and waits for the whole answer.
    ///
    /// - Parameter request: The request.
    /// - Returns: The final answer, whatever its status is.
    /// - Throws: Why there is no answer; also when the task is cancelled.
    func send(_ request: APIRequest) async throws(FanfareAPIError) -> APIResponse
}

/// A request to a broker, signed and ready to go.
public struct APIRequest: Equatable, Sendable {
    /// The request method: `GET` or `POST`.
    public var method: String
    /// Path and query, percent-encoded.
    public var target: String
    /// The content: JSON, or nothing.
    public var body: [UInt8]
    /// How long the whole exchange may take, the connection included.
    public var timeout: Duration
    /// The longest content of an answer, in bytes.
    public var answerLengthMax: Int

    /// Makes a request.
    ///
    /// - Parameters:
    ///   - method: The request method.
    ///   - target: Path and query, percent-encoded.
    ///   - body: The content.
    ///   - timeout: How long the whole exchange may take.
    ///   - answerLengthMax: The longest content of an answer, in bytes.
    public init(
        method: String,
        target: String,
        body: [UInt8],
        timeout: Duration,
        answerLengthMax: Int
    ) {
        self.method = method
        self.target = target
        self.body = body
        self.timeout = timeout
        self.answerLengthMax = answerLengthMax
    }
}

/// A broker's answer.
public struct APIResponse: Equatable, Sendable {
    /// The HTTP status.
    public var status: Int
    /// The content.
    public var body: [UInt8]

    /// Makes an answer.
    ///
    /// - Parameters:
    ///   - status: The HTTP status.
    ///   - body: The content.
    public init(status: Int, body: [UInt8]) {
        self.status = status
        self.body = body
    }
}
