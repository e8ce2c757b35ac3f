import HTTPClient
import Primitives

/// The HTTP connections to one endpoint, opened on its first request.
final class EndpointHTTPClient: Sendable {
    /// The longest response to read, in bytes: enough for a hundred channels and a user's data.
    private static let responseLengthMax = 1 << 20
    /// The longest body of an error response to keep, in bytes.
    private static let errorBodyLengthMax = 4096

    private let endpoint: AuthorizationEndpoint
    private let transports = Lock<[ConnectionKey: any HTTPTransport]>([:])

    /// The settings that connections share.
    private struct ConnectionKey: Hashable {
        var trust: ClientOptions.Trust
        var route: HTTPRoute
    }

    init(_ endpoint: AuthorizationEndpoint) { self.endpoint = endpoint }

    /// Requests the authorisation of channels.
    func authorize(
        _ request: AuthorizationRequest,
        _ settings: BackendSettings
    ) async throws -> ChannelResponses {
        let body = try await send(request, settings)
        guard endpoint.channelsPerRequestMax > 1 else {
            return [
                request.channels[0]: try AuthorizationResponse.channel(request.channels[0], body)
            ]
        }
        return try AuthorizationResponse.channels(request.channels, body)
    }

    /// Requests the authentication of the user.
    func authenticate(
        _ request: AuthorizationRequest,
        _ settings: BackendSettings
    ) async throws -> UserAuthentication {
        try AuthorizationResponse.user(try await send(request, settings))
    }

    private func send(
        _ request: AuthorizationRequest,
        _ settings: BackendSettings
    ) async throws -> [UInt8] {
        guard let resource = HTTPResource(endpoint.url) else {
            throw AuthorizationFailure.invalidEndpoint(endpoint.url)
        }
        let body = AuthorizationRequestBody(endpoint, request)
        var fields = [
            HTTPField("Content-Type", body.contentType),
            HTTPField("Accept", "application/json"),
        ]
        for (name, value) in try await endpoint.headers(request) {
            fields.removeAll { $0.name.lowercased() == name.lowercased() }
            fields.append(HTTPField(name, value))
        }
        let call = HTTPCall(
            method: "POST",
            target: resource.target,
            fields: fields,
            body: body.bytes,
            // Signing is idempotent.
            isRepeatable: true,
            timeout: settings.timeout,
            answerLengthMax: Self.responseLengthMax
        )
        let response = try await send(call, to: resource.address, settings)
        guard response.status == 200 || response.status == 201 else {
            let text = String(
                decoding: response.body.prefix(Self.errorBodyLengthMax),
                as: UTF8.self
            )
            throw AuthorizationFailure.refused(status: response.status, body: text)
        }
        return response.body
    }

    private func send(
        _ call: HTTPCall,
        to address: HTTPAddress,
        _ settings: BackendSettings
    ) async throws(AuthorizationFailure) -> HTTPAnswer {
        let key = try connectionKey(for: address, settings)
        do throws(HTTPFailure) {
            return try await transport(to: address, key).send(call)
        } catch {
            throw AuthorizationFailure(error)
        }
    }

    /// The endpoint's trust and proxy, by default the client's.
    private func connectionKey(
        for address: HTTPAddress,
        _ settings: BackendSettings
    ) throws(AuthorizationFailure) -> ConnectionKey {
        let (host, port) = (address.host, address.port)
        let server: Endpoint =
            address.isSecure ? .secure(host: host, port: port) : .plain(host: host, port: port)
        do throws(InvalidOption) {
            let route = try (endpoint.proxy ?? settings.proxy).resolved(for: server)
            return ConnectionKey(trust: endpoint.trust ?? settings.trust, route: route)
        } catch {
            throw AuthorizationFailure.unreachable(error.description)
        }
    }

    private func transport(
        to address: HTTPAddress,
        _ key: ConnectionKey
    ) throws(HTTPFailure) -> any HTTPTransport {
        try transports.withLock { transports throws(HTTPFailure) in
            if let known = transports[key] { return known }
            let new = try platformTransport(
                to: address,
                trust: key.trust.rules,
                route: key.route
            )
            transports[key] = new
            return new
        }
    }
}

extension AuthorizationFailure {
    fileprivate init(_ failure: HTTPFailure) {
        switch failure {
        case .timedOut(let limit, _): self = .timedOut(after: limit)
        case .answerTooLong, .unexpectedAnswer:
            self = .malformed("\(failure). \(AuthorizationResponse.advice)")
        case .invalidURL(let url): self = .invalidEndpoint(url)
        case .invalidRequest(let reason): self = .malformed(reason)
        case .unreachable(let reason), .connectionLost(let reason): self = .unreachable(reason)
        case .cancelled: self = .unreachable("\(failure)")
        }
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
