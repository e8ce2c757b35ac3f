/// The reason why a request has no response.
package enum HTTPFailure: Error, Equatable, Sendable {
    /// The address is not `http://host[:port][/prefix]` or the same with `https`.
    case invalidURL(String)
    /// The request is invalid; nothing was sent.
    case invalidRequest(String)
    /// The connection failed, because of a name, an address, a port or a certificate. Nothing was sent.
    case unreachable(String)
    /// There was no response within the timeout.
    case timedOut(after: Duration, mayHaveArrived: Bool)
    /// The connection ended before the response was complete.
    case connectionLost(String)
    /// The response is not HTTP.
    case unexpectedAnswer(String)
    /// The response is longer than `lengthMax` bytes.
    case answerTooLong(lengthMax: Int)
    /// The task was cancelled.
    case cancelled(mayHaveArrived: Bool)
}

extension HTTPFailure: CustomStringConvertible {
    /// The error, as part of a sentence.
    package var description: String {
        switch self {
        case .invalidURL(let url): "\(url) is not http://host:port or https://host:port"
        case .invalidRequest(let reason), .unreachable(let reason), .connectionLost(let reason):
            reason
        case .timedOut(let limit, _): "no answer within \(limit)"
        case .unexpectedAnswer(let reason): "the answer is not HTTP: \(reason)"
        case .answerTooLong(let lengthMax): "the answer is longer than \(lengthMax) bytes"
        case .cancelled: "the task was cancelled"
        }
    }
}
