/// How a client keeps its connections, and how it reads from them.
package struct ConnectionSettings: Sendable, Hashable {
    /// The most connections that are open to one server at a time; further requests wait for one of them.
    package var connectionCountMax: Int
    /// How long a connection is kept without a request.
    ///
    /// Common servers close after 5, 30, 60, 65 or 75 seconds. A value somewhat below one of these rarely meets a server
    /// that closes at the same moment. A shorter time that a server announces by `Keep-Alive: timeout=` precedes it.
    package var idleTimeout: Duration
    /// How long a connection takes new requests after it was opened.
    ///
    /// A name may lead to another address by then, and a busy connection would never notice.
    package var lifetime: Duration
    /// Whether a server that answers in many small pieces is read in the steps of ``AnswerPace``.
    package var pacesReading: Bool

    /// Settings with the defaults of a client that talks to one known server.
    ///
    /// - Parameters:
    ///   - connectionCountMax: The most connections to one server, at least 1.
    ///   - idleTimeout: How long a connection is kept without a request.
    ///   - lifetime: How long a connection takes new requests.
    ///   - pacesReading: Whether many small reads are spread over time.
    package init(
        connectionCountMax: Int = 16,
        idleTimeout: Duration = .seconds(20),
        lifetime: Duration = .seconds(60),
        pacesReading: Bool = false
    ) {
        self.connectionCountMax = connectionCountMax
        self.idleTimeout = idleTimeout
        self.lifetime = lifetime
        self.pacesReading = pacesReading
    }
}
