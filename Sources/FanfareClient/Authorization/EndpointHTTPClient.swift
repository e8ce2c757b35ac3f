import HTTPClient
import Synchronization

/// The connections to one endpoint, made when it is first asked.
final class EndpointHTTPClient: Sendable {
    /// The longest answer that is read: a hundred channels and what is known about a user have room in it.
    private static let answerLengthMax = 1 << 20
    /// How much of a refusal is kept.
    private static let refusalLengthMax = 4096

    private let endpoint: AuthorizationEndpoint
    private let lines = Mutex<[Way: any HTTPTransport]>([:])

    /// What connections have in common.
    private struct Way: Hashable {
        var trust: ClientOptions.Trust
        var route: HTTPRoute
    }

    init(_ endpoint: AuthorizationEndpoint) { self.endpoint = endpoint }

    /// Asks for channels.
    func authorize(
        _ request: AuthorizationRequest,
        _ terms: AuthorizationTerms
    ) async throws -> ChannelAuthorizer.Answers {
        let body = try await ask(request, terms)
        guard endpoint.channelsPerRequestMax > 1 else {
            return [request.channels[0]: try EndpointAnswer.channel(request.channels[0], body)]
        }
        return try EndpointAnswer.channels(request.channels, body)
    }

    /// Asks who the user is.
    func authenticate(
        _ request: AuthorizationRequest,
        _ terms: AuthorizationTerms
    ) async throws -> UserAuthentication {
        try EndpointAnswer.user(try await ask(request, terms))
    }

    private func ask(
        _ request: AuthorizationRequest,
        _ terms: AuthorizationTerms
    ) async throws -> [UInt8] {
        guard let resource = HTTPResource(endpoint.url) else {
            throw AuthorizationFailure.invalidEndpoint(endpoint.url)
        }
        let question = EndpointQuestion(endpoint, request)
        var fields = [
            HTTPField("Content-Type", question.contentType),
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
            body: question.body,
            // Signing the same twice does no harm.
            isRepeatable: true,
            timeout: terms.timeout,
            answerLengthMax: Self.answerLengthMax
        )
        let answer = try await send(call, to: resource.address, terms)
        guard answer.status == 200 || answer.status == 201 else {
            let text = String(decoding: answer.body.prefix(Self.refusalLengthMax), as: UTF8.self)
            throw AuthorizationFailure.refused(status: answer.status, body: text)
        }
        return answer.body
    }

    private func send(
        _ call: HTTPCall,
        to address: HTTPAddress,
        _ terms: AuthorizationTerms
    ) async throws(AuthorizationFailure) -> HTTPAnswer {
        let way = try way(to: address, terms)
        do throws(HTTPFailure) {
            return try await line(to: address, way).send(call)
        } catch {
            throw AuthorizationFailure(error)
        }
    }

    /// Whom to trust and how to get there: as the client does, unless the endpoint says else.
    private func way(
        to address: HTTPAddress,
        _ terms: AuthorizationTerms
    ) throws(AuthorizationFailure) -> Way {
        let (host, port) = (address.host, address.port)
        let server: Endpoint =
            address.isSecure ? .secure(host: host, port: port) : .plain(host: host, port: port)
        do throws(InvalidOption) {
            let route = try (endpoint.proxy ?? terms.proxy).resolved(for: server)
            return Way(trust: endpoint.trust ?? terms.trust, route: route)
        } catch {
            throw AuthorizationFailure.unreachable(error.description)
        }
    }

    private func line(
        to address: HTTPAddress,
        _ way: Way
    ) throws(HTTPFailure) -> any HTTPTransport {
        try lines.withLock { lines throws(HTTPFailure) in
            if let known = lines[way] { return known }
            let new = try platformTransport(
                to: address,
                trust: way.trust.rules,
                route: way.route
            )
            lines[way] = new
            return new
        }
    }
}

extension AuthorizationFailure {
    fileprivate init(_ failure: HTTPFailure) {
        switch failure {
        case .timedOut(let limit, _): self = .timedOut(after: limit)
        case .answerTooLong, .unexpectedAnswer:
            self = .malformed("\(failure). \(EndpointAnswer.advice)")
        case .invalidURL(let url): self = .invalidEndpoint(url)
        case .invalidRequest(let reason): self = .malformed(reason)
        case .unreachable(let reason), .connectionLost(let reason): self = .unreachable(reason)
        case .cancelled: self = .unreachable("\(failure)")
        }
    }
}
