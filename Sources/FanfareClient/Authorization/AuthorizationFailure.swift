/// Why a backend's signature could not be had, and what to do about it.
public enum AuthorizationFailure: Error, Sendable, Hashable {
    /// The client has not been told whom to ask.
    case notConfigured
    /// The endpoint's URL is not `http://host/path` or `https://host/path`.
    case invalidEndpoint(String)
    /// The backend refuses, with an HTTP status and its explanation; from 500 on it is asked again.
    case refused(status: Int, body: String)
    /// The backend's answer is not what it has to be; the text says what that is.
    case malformed(String)
    /// Nobody answered in time; the client has asked again before it gave up.
    case timedOut(after: Duration)
    /// There was no connection to the backend, or it was lost; the client has asked again before it gave up.
    case unreachable(String)
    /// The signature belongs to a connection that is no more, and nobody has been named who could give another.
    case outdated
    /// What an app's own closure threw; the client has asked again before it gave up.
    case failed(String)

    /// Whether asking again may help: the network, an overload, a fault of the backend.
    public var isTemporary: Bool {
        switch self {
        case .refused(let status, _): status >= 500
        case .timedOut, .unreachable, .failed: true
        case .notConfigured, .invalidEndpoint, .malformed, .outdated: false
        }
    }

    /// The HTTP status, where there was one.
    public var status: Int? { if case .refused(let status, _) = self { status } else { nil } }
}

extension AuthorizationFailure: CustomStringConvertible {
    /// What happened and what to do, in a sentence or two for a developer.
    public var description: String {
        switch self {
        case .notConfigured:
            "nobody signs for this client. Set ClientOptions.channelAuthorizer (for sign-in: userAuthenticator)"
        case .invalidEndpoint(let url):
            "\(url) is not the URL of an endpoint: expected http://host/path or https://host/path"
        case .refused(let status, let body):
            "the backend answered \(status)\(body.isEmpty ? "" : ": \(body.prefix(200))")\(Self.advice(status))"
        case .malformed(let reason): reason
        case .timedOut(let limit):
            "the backend did not answer within \(limit). Is it running, and does it have to ask somebody slow?"
        case .unreachable(let reason):
            "the backend cannot be reached: \(reason). Is it running, and is the endpoint's URL right?"
        case .outdated:
            "the signature was for an earlier connection. Give a new one, or set ClientOptions.channelAuthorizer"
        case .failed(let reason): "the app's own authorisation failed: \(reason)"
        }
    }

    private static func advice(_ status: Int) -> String {
        switch status {
        case 300..<400: ". Give the URL that this leads to: redirections are not followed"
        case 401, 403: ". Is somebody signed in, and are the headers that say so sent along?"
        case 404, 405: ". Is the endpoint's URL right, and does it take POST?"
        default: ""
        }
    }
}
