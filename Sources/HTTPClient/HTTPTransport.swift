/// What carries requests to one server: sockets of this package on Linux, `URLSession` on Apple platforms, something
/// scripted in tests.
package protocol HTTPTransport: Sendable {
    /// Sends one request and waits for the whole answer.
    ///
    /// - Parameter call: The request.
    /// - Returns: The final answer, whatever its status is.
    /// - Throws: Why there is no answer; also when the task is cancelled.
    func send(_ call: HTTPCall) async throws(HTTPFailure) -> HTTPAnswer
}

/// Makes the transport that this platform has for one server.
///
/// - Parameters:
///   - address: The server.
///   - trust: Whose certificates are accepted.
///   - route: How to get to the server.
/// - Returns: A transport that connects when it is used, and keeps its connections for a while.
/// - Throws: `.unreachable` when there is no thread, no descriptor or no certificate to be had.
package func platformTransport(
    to address: HTTPAddress,
    trust: HTTPTrust = .system,
    route: HTTPRoute = .system
) throws(HTTPFailure) -> any HTTPTransport {
    #if canImport(Darwin)
        try URLSessionHTTP(to: address, trust: trust, route: route)
    #else
        try SocketHTTP(to: address, trust: trust, route: route)
    #endif
}

/// A request to a server, ready to go.
package struct HTTPCall: Equatable, Sendable {
    /// The request method, such as `GET`.
    package var method: String
    /// Path and query, percent-encoded; what the address has in front of them is added by the transport.
    package var target: String
    /// Further fields; the transport adds those about the host, the length and the connection.
    package var fields: [HTTPField]
    /// The content.
    package var body: [UInt8]
    /// Whether it may be sent again when a kept connection turns out to be closed: the server may have read it.
    package var isRepeatable: Bool
    /// How long the whole exchange may take, from the look-up of the name on; with a ``contentPeriod``, up to the head
    /// of the answer.
    package var timeout: Duration
    /// The longest content of an answer, in bytes; with a ``contentPeriod``, the longest answer, its head included.
    package var answerLengthMax: Int
    /// How long the content of the answer is read, where the status alone matters; `nil` to wait for all of it.
    ///
    /// The content is dropped. A connection whose answer ends within this time is kept, any other one is closed, and the
    /// status is returned in either case.
    package var contentPeriod: Duration?

    /// Makes a request.
    ///
    /// - Parameters:
    ///   - method: The request method.
    ///   - target: Path and query, percent-encoded.
    ///   - fields: Further fields.
    ///   - body: The content.
    ///   - isRepeatable: Whether it may be sent again over another connection; `nil` for `GET` alone.
    ///   - timeout: How long the exchange may take.
    ///   - answerLengthMax: The longest content of an answer, in bytes.
    ///   - contentPeriod: How long content is read that is dropped; `nil` to return it.
    package init(
        method: String,
        target: String,
        fields: [HTTPField] = [],
        body: [UInt8] = [],
        isRepeatable: Bool? = nil,
        timeout: Duration = .seconds(10),
        answerLengthMax: Int = 1 << 20,
        contentPeriod: Duration? = nil
    ) {
        self.method = method
        self.target = target
        self.fields = fields
        self.body = body
        self.isRepeatable = isRepeatable ?? (method == "GET")
        self.timeout = timeout
        self.answerLengthMax = answerLengthMax
        self.contentPeriod = contentPeriod
    }
}

/// One field of a request: a name and a value.
package struct HTTPField: Equatable, Sendable {
    /// The name, whose case does not matter.
    package var name: String
    /// The value.
    package var value: String

    /// Makes a field.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - value: The value, without line breaks.
    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// A server's answer.
package struct HTTPAnswer: Equatable, Sendable {
    /// The HTTP status.
    package var status: Int
    /// The content; empty where the request had a ``HTTPCall/contentPeriod``.
    package var body: [UInt8]

    /// Makes an answer.
    ///
    /// - Parameters:
    ///   - status: The HTTP status.
    ///   - body: The content.
    package init(status: Int, body: [UInt8]) {
        self.status = status
        self.body = body
    }
}
