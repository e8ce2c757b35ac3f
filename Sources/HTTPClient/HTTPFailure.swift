/// Why a request has no answer.
package enum HTTPFailure: Error, Equatable, Sendable {
    /// The address is not `http://host[:port][/prefix]` or the same with `https`.
    case invalidURL(String)
    /// A request that cannot be written; nothing was sent.
    case invalidRequest(String)
    /// There is no connection to the server: a name, an address, a port or a certificate. Nothing was sent.
    case unreachable(String)
    /// No answer within the time allowed.
    case timedOut(after: Duration, mayHaveArrived: Bool)
    /// The connection ended before the answer was complete.
    case connectionLost(String)
    /// What came back is no HTTP.
    case unexpectedAnswer(String)
    /// The answer is longer than `lengthMax` bytes.
    case answerTooLong(lengthMax: Int)
    /// The task was cancelled.
    case cancelled(mayHaveArrived: Bool)
}

extension HTTPFailure: CustomStringConvertible {
    /// What happened, as part of a sentence.
    package var description: String {
        switch self {
        case .invalidURL(let url): "\(url) is not http://host:port or https://host:port"
        case .invalidRequest(let reason), .unreachable(let reason), .connectionLost(let reason):
            reason
        case .timedOut(let limit, _): "no answer within \(limit)"
        case .unexpectedAnswer(let reason): "the answer is no HTTP: \(reason)"
        case .answerTooLong(let lengthMax): "the answer is longer than \(lengthMax) bytes"
        case .cancelled: "the task was cancelled"
        }
    }
}
