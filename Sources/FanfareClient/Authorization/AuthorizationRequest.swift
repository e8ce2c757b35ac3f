/// A request for a signature.
public struct AuthorizationRequest: Sendable, Hashable {
    /// The connection's socket ID.
    public let socketID: String
    /// The channels to subscribe to; empty for a sign-in.
    public let channels: [String]

    /// Creates a request, for tests.
    ///
    /// - Parameters:
    ///   - socketID: The connection's socket ID.
    ///   - channels: The channels to subscribe to; empty for a sign-in.
    public init(socketID: String, channels: [String]) {
        self.socketID = socketID
        self.channels = channels
    }
}

/// The client's settings for requests to a backend.
struct BackendSettings: Sendable {
    /// The time limit of one request.
    var timeout: Duration
    /// The certificates to trust for `https`.
    var trust: ClientOptions.Trust
    /// The proxy, if any.
    var proxy: ClientOptions.Proxy
}

/// The response for each requested channel.
typealias ChannelResponses = [String: Result<ChannelAuthorization, AuthorizationFailure>]
