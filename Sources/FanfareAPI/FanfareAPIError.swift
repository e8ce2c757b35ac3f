/// Why a call of the HTTP API did not succeed, and what to do about it.
public enum FanfareAPIError: Error, Equatable, Sendable {
    /// The broker's address is not `http://host[:port][/prefix]` or the same with `https`.
    case invalidURL(String)
    /// An argument that no broker could take; nothing was sent.
    case invalidArgument(String)
    /// The data could not be written as JSON; nothing was sent.
    case encoding(String)
    /// There is no connection to the broker: a name, an address, a port or a certificate. Nothing was sent.
    case unreachable(String)
    /// No answer within the time allowed.
    case timedOut(after: Duration, mayHaveArrived: Bool)
    /// The connection ended before the answer was complete.
    case connectionLost(String)
    /// The broker refused the request, with the HTTP status and its own explanation.
    case refused(status: Int, message: String)
    /// What came back is no answer of a broker; perhaps something else listens there.
    case unexpectedAnswer(String)
    /// The answer is longer than `lengthMax` bytes.
    case answerTooLong(lengthMax: Int)
    /// The task was cancelled.
    case cancelled(mayHaveArrived: Bool)

    /// Whether the request may have reached the broker all the same, so that repeating it may deliver an event twice.
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
    /// What happened, and what helps.
    public var description: String {
        switch self {
        case .invalidURL(let url):
            "\(url) is not the address of a broker: expected http://host:port or https://host:port"
        case .invalidArgument(let reason): reason
        case .encoding(let reason): "The data cannot be written as JSON: \(reason)"
        case .unreachable(let reason):
            "The broker cannot be reached: \(reason). Is it running, and is its address right? "
                + "Nothing was sent, so the call can be repeated"
        case .timedOut(let limit, let mayHaveArrived):
            "The broker did not answer within \(limit). "
                + FanfareAPIError.advice(mayHaveArrived: mayHaveArrived)
        case .connectionLost(let reason):
            "The connection to the broker ended before its answer: \(reason). "
                + FanfareAPIError.advice(mayHaveArrived: true)
        case .refused(let status, let message):
            "The broker answered \(status): \(message)\(FanfareAPIError.advice(status: status))"
        case .unexpectedAnswer(let reason):
            "What answered is no broker, or not of this protocol: \(reason)"
        case .answerTooLong(let lengthMax):
            "The answer is longer than the \(lengthMax) bytes allowed; "
                + "ask for fewer channels with a prefix, or raise answerLengthMax"
        case .cancelled(let mayHaveArrived):
            "The call was cancelled. " + FanfareAPIError.advice(mayHaveArrived: mayHaveArrived)
        }
    }

    private static func advice(mayHaveArrived: Bool) -> String {
        mayHaveArrived
            ? "The request may have been carried out all the same"
            : "The request was not sent, so the call can be repeated"
    }

    private static func advice(status: Int) -> String {
        switch status {
        case 401: ". Check the app's id, key and secret, and this machine's clock"
        case 403: ". The app is disabled or over its quota"
        case 404: ". Check the app's id and the prefix in the broker's address"
        case 413: ". Send less data, for example an id that the receiver looks up"
        case 429: ". Send less often, and try again later"
        case 500...: ". Try again later"
        default: ""
        }
    }
}
