/// The HTTP endpoint of an app's backend that signs subscriptions and sign-ins.
///
/// The client sends a `POST` with the fields `socket_id` and `channel_name`. It expects status 200 or 201 and JSON:
///
/// | Request for | Response |
/// |---|---|
/// | a private channel | `{"auth":"KEY:signature"}` |
/// | a presence channel | `{"auth":"KEY:signature","channel_data":"{\"user_id\":\"7\"}"}` |
/// | an encrypted channel | `{"auth":"KEY:signature","shared_secret":"base64"}` |
/// | a sign-in, without `channel_name` | `{"auth":"KEY:signature","user_data":"{\"id\":\"7\"}"}` |
///
/// With `channelsPerRequestMax` above one, the form has one `channel_name[]` for each channel; in JSON `channel_name`
/// is an array. The response is then an object with one such value for each channel name. For a channel that it
/// refuses, the backend leaves the value out or sends `{"status":403}`. `{"status":200,"data":{"auth":…}}` is also
/// accepted.
///
/// Requests use the proxy and the trust of the connection to the broker (``ClientOptions/Network/proxy``,
/// ``ClientOptions/Network/trust`` with its pins), unless the endpoint has its own.
public struct AuthorizationEndpoint: Sendable {
    /// The encoding of the request's fields.
    public enum Encoding: Sendable, Hashable {
        /// A form (`application/x-www-form-urlencoded`), which every backend library expects.
        case form
        /// A JSON object (`application/json`).
        case json
    }

    let url: String
    let encoding: Encoding
    let parameters: [String: String]
    let channelsPerRequestMax: Int
    let trust: ClientOptions.Trust?
    let proxy: ClientOptions.Proxy?
    let headers: @Sendable (AuthorizationRequest) async throws -> [String: String]

    /// Creates an endpoint.
    ///
    /// - Parameters:
    ///   - url: An `http` or `https` URL, with an optional query.
    ///   - encoding: The encoding of the request's fields.
    ///   - parameters: Additional fields to send.
    ///   - channelsPerRequestMax: The most channels in one request, at least one. Set it above one only if the endpoint
    ///     supports it. Channels requested at the same time, such as all channels after a reconnection, then share a
    ///     request.
    ///   - trust: The certificates to trust for `https`; `nil` for ``ClientOptions/Network/trust``.
    ///   - proxy: The proxy; `nil` for ``ClientOptions/Network/proxy``.
    ///   - headers: Returns the header fields of a request. Called before each request, so that the app can renew a
    ///     token.
    public init(
        _ url: String,
        encoding: Encoding = .form,
        parameters: [String: String] = [:],
        channelsPerRequestMax: Int = 1,
        trust: ClientOptions.Trust? = nil,
        proxy: ClientOptions.Proxy? = nil,
        headers: @escaping @Sendable (AuthorizationRequest) async throws -> [String: String] = {
            _ in [:]
        }
    ) {
        precondition(channelsPerRequestMax > 0, "a request needs at least one channel")
        self.url = url
        self.encoding = encoding
        self.parameters = parameters
        self.channelsPerRequestMax = channelsPerRequestMax
        self.trust = trust
        self.proxy = proxy
        self.headers = headers
    }
}

extension AuthorizationEndpoint: ExpressibleByStringLiteral {
    /// Creates an endpoint that expects a form with one channel.
    public init(stringLiteral url: String) { self.init(url) }
}
