import HTTPClient
import Synchronization

/// The connections to one endpoint, made when it is first asked.
final class EndpointLine: Sendable {
    /// The longest answer that is read: a hundred channels and what is known about a user have room in it.
    private static let answerLengthMax = 1 << 20
    /// How much of a refusal is kept.
    private static let refusalLengthMax = 4096

    private let endpoint: AuthorizationEndpoint
    private let lines = Mutex<[ClientOptions.Trust: any HTTPTransport]>([:])

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
        let answer = try await send(call, to: resource.address, terms.trust)
        guard answer.status == 200 || answer.status == 201 else {
            let text = String(decoding: answer.body.prefix(Self.refusalLengthMax), as: UTF8.self)
            throw AuthorizationFailure.refused(status: answer.status, body: text)
        }
        return answer.body
    }

    private func send(
        _ call: HTTPCall,
        to address: HTTPAddress,
        _ trust: ClientOptions.Trust
    ) async throws(AuthorizationFailure) -> HTTPAnswer {
        do throws(HTTPFailure) {
            return try await line(to: address, trust).send(call)
        } catch {
            throw AuthorizationFailure(error)
        }
    }

    private func line(
        to address: HTTPAddress,
        _ trust: ClientOptions.Trust
    ) throws(HTTPFailure) -> any HTTPTransport {
        try lines.withLock { lines throws(HTTPFailure) in
            if let known = lines[trust] { return known }
            let new = try platformTransport(to: address, trust: HTTPTrust(trust))
            lines[trust] = new
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

extension HTTPTrust {
    fileprivate init(_ trust: ClientOptions.Trust) {
        switch trust.roots {
        case .system: self = .system
        case .file(let path): self = .file(path)
        case .pem(let text): self = .pem(text)
        case .der(let certificates): self = .certificates(certificates)
        // A pin is the broker's: without one of its own the backend has to prove itself otherwise.
        case .insecure: self = trust.pins.isEmpty ? .insecure : .system
        }
    }
}
