/// A request to a server.
package struct HTTPCall: Equatable, Sendable {
    /// The request method, such as `GET`.
    package var method: String
    /// Path and query, percent-encoded; the transport adds the address's prefix.
    package var target: String
    /// Additional fields; the transport adds host, length and connection.
    package var fields: [HTTPField]
    /// The content.
    package var body: [UInt8]
    /// Whether it may be repeated if a kept connection turns out to be closed, although the server may have read it.
    package var isRepeatable: Bool
    /// The timeout of the exchange, including name resolution; with a ``contentPeriod``, up to the head of the
    /// response.
    package var timeout: Duration
    /// The maximum length of the content, in bytes; with a ``contentPeriod``, of the whole response including its head.
    package var answerLengthMax: Int
    /// The time limit for the content if only the status matters; `nil` to return the content.
    ///
    /// The content is dropped. If the response ends within this time the connection is kept, otherwise it is closed. In
    /// both cases the status is returned.
    package var contentPeriod: Duration?

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - method: The request method.
    ///   - target: Path and query, percent-encoded.
    ///   - fields: Additional fields.
    ///   - body: The content.
    ///   - isRepeatable: Whether it may be repeated over another connection; `nil` for only `GET`.
    ///   - timeout: The timeout of the exchange.
    ///   - answerLengthMax: The maximum length of the content, in bytes.
    ///   - contentPeriod: The time limit for content that is dropped; `nil` to return it.
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

/// A field of a request.
package struct HTTPField: Equatable, Sendable {
    /// The case-insensitive name.
    package var name: String
    /// The value.
    package var value: String

    /// Creates a field; the value contains no line breaks.
    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// A server's response.
package struct HTTPAnswer: Equatable, Sendable {
    /// The HTTP status.
    package var status: Int
    /// The content; empty if the request had a ``HTTPCall/contentPeriod``.
    package var body: [UInt8]

    /// Creates a response.
    package init(status: Int, body: [UInt8]) {
        self.status = status
        self.body = body
    }
}
