/// Who lets a client into private, presence and encrypted channels.
///
/// Mostly that is an endpoint of the app's backend:
///
/// ```swift
/// options.channelAuthorizer = .endpoint("https://example.com/pusher/auth")
/// ```
///
/// An app with ways of its own gives a closure:
///
/// ```swift
/// options.channelAuthorizer = ChannelAuthorizer { request, channel in
///     try await backend.sign(socketID: request.socketID, channel: channel)
/// }
/// ```
///
/// What it throws decides what happens: after an ``AuthorizationFailure`` that is not temporary the channel is refused,
/// after anything else the client asks again, as ``ClientOptions/authorizationRetries`` says.
public struct ChannelAuthorizer: Sendable {
    /// What is said of each channel that was asked for.
    typealias Answers = [String: Result<ChannelAuthorization, AuthorizationFailure>]

    /// The most channels of one request.
    let channelsPerRequestMax: Int
    let answer: @Sendable (AuthorizationRequest, AuthorizationTerms) async throws -> Answers

    /// Asks an endpoint of the app's backend.
    ///
    /// - Parameter endpoint: Where it is, and what it wants to be told.
    /// - Returns: The authorizer.
    public static func endpoint(_ endpoint: AuthorizationEndpoint) -> ChannelAuthorizer {
        let line = EndpointHTTPClient(endpoint)
        return ChannelAuthorizer(channelsPerRequestMax: endpoint.channelsPerRequestMax) {
            try await line.authorize($0, $1)
        }
    }

    /// Asks a closure, for each channel by itself.
    ///
    /// - Parameter sign: Given the connection and the channel, returns what the backend has signed.
    public init(
        _ sign:
            @escaping @Sendable (
                _ request: AuthorizationRequest, _ channel: String
            ) async throws -> ChannelAuthorization
    ) {
        self.init(channelsPerRequestMax: 1) { request, _ in
            var answers: Answers = [:]
            for channel in request.channels {
                answers[channel] = .success(try await sign(request, channel))
            }
            return answers
        }
    }

    /// Asks a closure, for many channels at once.
    ///
    /// - Parameters:
    ///   - channelsPerRequestMax: The most channels of one request, at least one.
    ///   - sign: Returns what the backend has signed, by channel; a channel that is not there is refused.
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
        answer:
            @escaping @Sendable (AuthorizationRequest, AuthorizationTerms) async throws -> Answers
    ) {
        precondition(channelsPerRequestMax > 0, "a request is about one channel at least")
        self.channelsPerRequestMax = channelsPerRequestMax
        self.answer = answer
    }
}

/// Who says which user a client is.
public struct UserAuthenticator: Sendable {
    let answer:
        @Sendable (AuthorizationRequest, AuthorizationTerms) async throws -> UserAuthentication

    /// Asks an endpoint of the app's backend.
    ///
    /// - Parameter endpoint: Where it is, and what it wants to be told.
    /// - Returns: The authenticator.
    public static func endpoint(_ endpoint: AuthorizationEndpoint) -> UserAuthenticator {
        let line = EndpointHTTPClient(endpoint)
        return UserAuthenticator(answer: { try await line.authenticate($0, $1) })
    }

    /// Asks a closure.
    ///
    /// - Parameter sign: Given what the broker calls the connection, returns what the backend has signed.
    public init(_ sign: @escaping @Sendable (_ socketID: String) async throws -> UserAuthentication)
    {
        answer = { request, _ in try await sign(request.socketID) }
    }

    private init(
        answer:
            @escaping @Sendable (AuthorizationRequest, AuthorizationTerms) async throws ->
            UserAuthentication
    ) { self.answer = answer }
}
