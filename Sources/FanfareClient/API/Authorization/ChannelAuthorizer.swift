/// Authorises subscriptions to private, presence and encrypted channels.
///
/// An endpoint of the app's backend is the usual way:
///
/// ```swift
/// options.authorization.channels = .endpoint("https://example.com/pusher/auth")
/// ```
///
/// A closure can replace it:
///
/// ```swift
/// options.authorization.channels = ChannelAuthorizer { request, channel in
///     try await backend.sign(socketID: request.socketID, channel: channel)
/// }
/// ```
///
/// If the closure throws an ``AuthorizationRefusal``, the subscription fails. After any other error the client retries
/// as configured by ``ClientOptions/Authorization/attemptCountMax``.
public struct ChannelAuthorizer: Sendable {
    /// The most channels in one request.
    let channelsPerRequestMax: Int
    let respond: @Sendable (AuthorizationRequest, BackendSettings) async throws -> ChannelResponses

    /// Returns an authorizer that sends requests to an endpoint of the app's backend.
    ///
    /// - Parameter endpoint: The endpoint.
    /// - Returns: The authorizer.
    public static func endpoint(_ endpoint: AuthorizationEndpoint) -> ChannelAuthorizer {
        let client = EndpointHTTPClient(endpoint)
        return ChannelAuthorizer(channelsPerRequestMax: endpoint.channelsPerRequestMax) {
            try await client.authorize($0, $1)
        }
    }

    /// Creates an authorizer that calls a closure for each channel.
    ///
    /// - Parameter sign: Returns the backend's signature for the connection and the channel.
    public init(
        _ sign:
            @escaping @Sendable (
                _ request: AuthorizationRequest, _ channel: String
            ) async throws -> ChannelAuthorization
    ) {
        self.init(channelsPerRequestMax: 1) { request, _ in
            var responses: ChannelResponses = [:]
            for channel in request.channels {
                responses[channel] = .success(try await sign(request, channel))
            }
            return responses
        }
    }

    /// Creates an authorizer that calls a closure for several channels at once.
    ///
    /// - Parameters:
    ///   - channelsPerRequestMax: The most channels in one request, at least one.
    ///   - sign: Returns the backend's signatures by channel; a channel without one is refused.
    public init(
        channelsPerRequestMax: Int,
        _ sign:
            @escaping @Sendable (AuthorizationRequest) async throws -> [String:
            ChannelAuthorization]
    ) {
        self.init(channelsPerRequestMax: channelsPerRequestMax) { request, _ in
            try await sign(request).mapValues { .success($0) }
        }
    }

    private init(
        channelsPerRequestMax: Int,
        respond:
            @escaping @Sendable (AuthorizationRequest, BackendSettings) async throws ->
            ChannelResponses
    ) {
        precondition(channelsPerRequestMax > 0, "a request needs at least one channel")
        self.channelsPerRequestMax = channelsPerRequestMax
        self.respond = respond
    }
}

/// Authenticates the user of a client.
public struct UserAuthenticator: Sendable {
    let respond:
        @Sendable (AuthorizationRequest, BackendSettings) async throws -> UserAuthentication

    /// Returns an authenticator that sends requests to an endpoint of the app's backend.
    ///
    /// - Parameter endpoint: The endpoint.
    /// - Returns: The authenticator.
    public static func endpoint(_ endpoint: AuthorizationEndpoint) -> UserAuthenticator {
        let client = EndpointHTTPClient(endpoint)
        return UserAuthenticator(respond: { try await client.authenticate($0, $1) })
    }

    /// Creates an authenticator that calls a closure.
    ///
    /// - Parameter sign: Returns the backend's signature for the connection's socket ID.
    public init(_ sign: @escaping @Sendable (_ socketID: String) async throws -> UserAuthentication)
    {
        respond = { request, _ in try await sign(request.socketID) }
    }

    private init(
        respond:
            @escaping @Sendable (AuthorizationRequest, BackendSettings) async throws ->
            UserAuthentication
    ) { self.respond = respond }
}
