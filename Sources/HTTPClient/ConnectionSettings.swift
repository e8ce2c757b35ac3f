/// The settings of a client's connections.
package struct ConnectionSettings: Sendable, Hashable {
    /// The maximum number of connections to one server; further requests wait.
    package var connectionCountMax: Int
    /// The time for which an idle connection is kept.
    ///
    /// Common servers close after 5, 30, 60, 65 or 75 seconds. With a value slightly below one of these, the client
    /// rarely sends a request while the server closes. A shorter time announced by the server (`Keep-Alive: timeout=`)
    /// takes precedence.
    package var idleTimeout: Duration
    /// The time for which a connection accepts new requests after it was opened.
    ///
    /// After this time the host name may resolve to another address, which a busy connection would never notice.
    package var lifetime: Duration
    /// Whether reads of responses in many small pieces are delayed; see ``AnswerPace``.
    package var pacesReading: Bool

    /// Creates settings with the defaults for a client of one known server; `connectionCountMax` is at least 1.
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
