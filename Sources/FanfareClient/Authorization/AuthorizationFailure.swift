/// The reason a request for a backend's signature failed.
///
/// Its description states what to do.
package enum AuthorizationFailure: Error, Sendable, Hashable {
    /// No authorizer or authenticator is set in ``ClientOptions``.
    case notConfigured
    /// The endpoint's URL is not `http://host/path` or `https://host/path`.
    case invalidEndpoint(String)
    /// The backend refused with this HTTP status and body. The client retries after 408, 429 and statuses from 500 on.
    case refused(status: Int, body: String)
    /// The backend's response is malformed; the text states the expected form.
    case malformed(String)
    /// The backend did not respond in time, after all retries.
    case timedOut(after: Duration)
    /// The connection to the backend failed or was lost, after all retries.
    case unreachable(String)
    /// The signature belongs to an earlier connection, and no authorizer is set to request a new one.
    case outdated
    /// The app's closure threw this error, after all retries.
    case failed(String)

    /// Whether a retry may help: the network failed, or the backend is overloaded or reported an internal error.
    var isTemporary: Bool {
        switch self {
        case .refused(let status, _): status == 408 || status == 429 || status >= 500
        case .timedOut, .unreachable, .failed: true
        case .notConfigured, .invalidEndpoint, .malformed, .outdated: false
        }
    }

    /// The HTTP status, if there was a response.
    var status: Int? { if case .refused(let status, _) = self { status } else { nil } }
}

extension AuthorizationFailure: CustomStringConvertible {
    /// What happened and what to do, for a developer.
    package var description: String {
        switch self {
        case .notConfigured:
            "no authorizer is set. Set ClientOptions.authorization.channels (for sign-in: authorization.user)"
        case .invalidEndpoint(let url):
            "\(url) is not an endpoint's URL: expected http://host/path or https://host/path"
        case .refused(let status, let body):
            "the backend answered \(status)\(body.isEmpty ? "" : ": \(body.prefix(200))")\(Self.advice(status))"
        case .malformed(let reason): reason
        case .timedOut(let limit):
            "the backend did not answer within \(limit). Is it running, and does it call something slow?"
        case .unreachable(let reason):
            "the backend cannot be reached: \(reason). Is it running, and is the endpoint's URL right?"
        case .outdated:
            "the signature was for an earlier connection. Pass a new one, or set ClientOptions.authorization.channels"
        case .failed(let reason): "the app's authorisation closure failed: \(reason)"
        }
    }

    private static func advice(_ status: Int) -> String {
        switch status {
        case 300..<400: ". Use the URL it redirects to: redirects are not followed"
        case 401, 403: ". Is the user signed in, and do the request's headers prove it?"
        case 404, 405: ". Is the endpoint's URL right, and does it accept POST?"
        default: ""
        }
    }
}
