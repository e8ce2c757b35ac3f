/// Where an app's backend signs, and what it wants to be told.
///
/// The client sends a `POST` with the fields `socket_id` and `channel_name`, and expects status 200 or 201 and JSON:
///
/// | For | The answer |
/// |---|---|
/// | a private channel | `{"auth":"KEY:signature"}` |
/// | a presence channel | `{"auth":"KEY:signature","channel_data":"{\"user_id\":\"7\"}"}` |
/// | an encrypted channel | `{"auth":"KEY:signature","shared_secret":"base64"}` |
/// | a sign-in, without `channel_name` | `{"auth":"KEY:signature","user_data":"{\"id\":\"7\"}"}` |
///
/// With ``channelsPerRequestMax`` above one, `channel_name[]` is there once for each channel (in JSON `channel_name` is
/// an array), and the answer is an object with such a value for each channel by its name. A channel that is refused is
/// left out, or has `{"status":403}`; the form `{"status":200,"data":{"auth":…}}` is read as well.
///
/// The backend is reached by the proxy that the broker is reached by, and with `https` it is trusted as
/// ``ClientOptions/trust`` says of the broker, pins included; ``proxy`` and ``trust`` say otherwise.
public struct AuthorizationEndpoint: Sendable {
    /// How the fields are written.
    public enum Encoding: Sendable, Hashable {
        /// As a form (`application/x-www-form-urlencoded`), which is what every backend library expects.
        case form
        /// As an object (`application/json`).
        case json
    }

    /// The endpoint, an `http` or `https` URL; a query may be part of it.
    public var url: String
    /// How the fields are written.
    public var encoding = Encoding.form
    /// Further fields to send along.
    public var parameters: [String: String] = [:]
    /// The header fields of a request, asked for before each: a place for a token that expires.
    public var headers: @Sendable (AuthorizationRequest) async throws -> [String: String] = { _ in
        [:]
    }
    /// The most channels of one request; more than one only where the endpoint can do it.
    ///
    /// What is asked for at one time, such as all channels after a reconnection, then goes together.
    public var channelsPerRequestMax = 1
    /// Whom to trust, with `https`; `nil` for whom the client trusts (``ClientOptions/trust``).
    public var trust: ClientOptions.Trust?
    /// By which proxy to go, if by any; `nil` for the client's (``ClientOptions/proxy``).
    public var proxy: ClientOptions.Proxy?

    /// Names an endpoint that takes a form about one channel at a time.
    ///
    /// - Parameter url: An `http` or `https` URL, with a query if need be.
    public init(_ url: String) { self.url = url }

    /// Names an endpoint.
    ///
    /// - Parameters:
    ///   - url: An `http` or `https` URL, with a query if need be.
    ///   - encoding: How the fields are written.
    ///   - parameters: Further fields to send along.
    ///   - channelsPerRequestMax: The most channels of one request, at least one.
    ///   - headers: The header fields of a request, asked for before each.
    public init(
        _ url: String,
        encoding: Encoding = .form,
        parameters: [String: String] = [:],
        channelsPerRequestMax: Int = 1,
        headers: @escaping @Sendable (AuthorizationRequest) async throws -> [String: String] = {
            _ in [:]
        }
    ) {
        precondition(channelsPerRequestMax > 0, "a request is about one channel at least")
        self.url = url
        self.encoding = encoding
        self.parameters = parameters
        self.channelsPerRequestMax = channelsPerRequestMax
        self.headers = headers
    }
}

extension AuthorizationEndpoint: ExpressibleByStringLiteral {
    /// Names an endpoint that takes a form about one channel at a time.
    public init(stringLiteral url: String) { self.init(url) }
}
