/// An error of a call of the HTTP API.
///
/// Its description states what to do.
public enum FanfareAPIError: Error, Equatable, Sendable {
    /// The broker's address is not `http[s]://host[:port][/prefix]`.
    case invalidURL(String)
    /// An argument is invalid; nothing was sent.
    case invalidArgument(String)
    /// The data cannot be encoded as JSON; nothing was sent.
    case encoding(String)
    /// The connection to the broker failed: name lookup, TCP or TLS. Nothing was sent.
    case unreachable(String)
    /// There was no response within the time limit.
    case timedOut(after: Duration, mayHaveArrived: Bool)
    /// The connection ended before the response was complete.
    case connectionLost(String)
    /// The broker refused the request with this HTTP status and explanation.
    case refused(status: Int, message: String)
    /// The response does not come from a broker.
    case unexpectedAnswer(String)
    /// The response is longer than `lengthMax` bytes.
    case answerTooLong(lengthMax: Int)
    /// The task was cancelled.
    case cancelled(mayHaveArrived: Bool)

    /// Whether the request may have reached the broker, so that repeating it may deliver an event twice.
    public var mayHaveArrived: Bool {
        switch self {
        case .invalidURL, .invalidArgument, .encoding, .unreachable: false
        case .timedOut(_, let mayHaveArrived), .cancelled(let mayHaveArrived): mayHaveArrived
        case .refused(let status, _): status >= 500
        case .connectionLost, .unexpectedAnswer, .answerTooLong: true
        }
    }
}

extension FanfareAPIError: CustomStringConvertible {
    /// What happened and what to do.
    public var description: String {
        switch self {
        case .invalidURL(let url):
            "\(url) is not a broker's address: expected http://host:port or https://host:port"
        case .invalidArgument(let reason): reason
        case .encoding(let reason): "The data cannot be encoded as JSON: \(reason)"
        case .unreachable(let reason):
            "The broker cannot be reached: \(reason). Is it running, and is its address right? "
                + "Nothing was sent, so the call can be repeated"
        case .timedOut(let limit, let mayHaveArrived):
            "The broker did not answer within \(limit). "
                + FanfareAPIError.advice(mayHaveArrived: mayHaveArrived)
        case .connectionLost(let reason):
            "The connection to the broker ended before its response: \(reason). "
                + FanfareAPIError.advice(mayHaveArrived: true)
        case .refused(let status, let message):
            "The broker answered \(status): \(message)\(FanfareAPIError.advice(status: status))"
        case .unexpectedAnswer(let reason):
            "The response is not a Pusher broker's: \(reason)"
        case .answerTooLong(let lengthMax):
            "The response is longer than the limit of \(lengthMax) bytes. "
                + "Request fewer channels with a prefix, or raise answerLengthMax"
        case .cancelled(let mayHaveArrived):
            "The call was cancelled. " + FanfareAPIError.advice(mayHaveArrived: mayHaveArrived)
        }
    }

    private static func advice(mayHaveArrived: Bool) -> String {
        mayHaveArrived
            ? "The request may have been processed"
            : "The request was not sent, so the call can be repeated"
    }

    private static func advice(status: Int) -> String {
        switch status {
        case 401: ". Check the app's id, key and secret, and this machine's clock"
        case 403: ". The app is disabled or over its quota"
        case 404: ". Check the app's id and the prefix in the broker's address"
        case 410: ". Messages were lost: load the state again"
        case 412: ". Load what has changed, and trigger again from the channel's position"
        case 413: ". Send less data, for example an id that the receiver looks up"
        case 429: ". Send less often, and try again later"
        case 500...: ". Try again later"
        default: ""
        }
    }
}
