/// Sends the requests of a ``BrokerAPI`` to its broker.
///
/// The default transport uses the package's own sockets on Linux and `URLSession` on Apple platforms. Tests can use a
/// scripted one.
public protocol APITransport: Sendable {
    /// Sends one request and waits for the whole response.
    ///
    /// - Parameter request: The request.
    /// - Returns: The final response, with any status.
    /// - Throws: The reason there is no response; also when the task is cancelled.
    func send(_ request: APIRequest) async throws(FanfareAPIError) -> APIResponse
}

/// A signed request to a broker.
public struct APIRequest: Equatable, Sendable {
    /// The request method: `GET` or `POST`.
    public var method: String
    /// The path and query, percent-encoded.
    public var target: String
    /// The content: JSON or empty.
    public var body: [UInt8]
    /// The time limit of the whole exchange, including the connection.
    public var timeout: Duration
    /// The longest content of a response, in bytes.
    public var answerLengthMax: Int

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - method: The request method.
    ///   - target: The path and query, percent-encoded.
    ///   - body: The content.
    ///   - timeout: The time limit of the whole exchange.
    ///   - answerLengthMax: The longest content of a response, in bytes.
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

/// A broker's response.
public struct APIResponse: Equatable, Sendable {
    /// The HTTP status.
    public var status: Int
    /// The content.
    public var body: [UInt8]

    /// Creates a response.
    ///
    /// - Parameters:
    ///   - status: The HTTP status.
    ///   - body: The content.
    public init(status: Int, body: [UInt8]) {
        self.status = status
        self.body = body
    }
}
