/// What a client wants signed.
public struct AuthorizationRequest: Sendable, Hashable {
    /// What the broker calls the connection.
    public let socketID: String
    /// The channels to be let into; empty when a user is to be signed in.
    public let channels: [String]

    /// Makes a request, for tests of what answers it.
    ///
    /// - Parameters:
    ///   - socketID: What the broker calls the connection.
    ///   - channels: The channels to be let into; empty for a sign-in.
    public init(socketID: String, channels: [String]) {
        self.socketID = socketID
        self.channels = channels
    }
}

/// What the client allows a backend.
struct AuthorizationTerms: Sendable {
    /// How long one request may take.
    var timeout: Duration
    /// Whom to trust, with `https`.
    var trust: ClientOptions.Trust
    /// By which proxy to go, if by any.
    var proxy: ClientOptions.Proxy
}
