/// An error of a test, with advice.
public enum FanfareTestingError: Error, Equatable, Sendable {
    /// The condition was not met within this real time; `seen` lists the last actions.
    case timedOut(waitingFor: String, within: Duration, seen: [String])
    /// Client and broker still exchanged messages after this number of rounds.
    case notSettled(rounds: Int)
    /// The broker has refused an event of the test, with the status of the HTTP API.
    case refused(status: Int, message: String)
    /// The data cannot be encoded as JSON.
    case encoding(String)
    /// No open connection has this socket ID.
    case noConnection(socketID: String)
}

extension FanfareTestingError: CustomStringConvertible {
    /// The error and what to do about it.
    public var description: String {
        switch self {
        case .timedOut(let what, let patience, let seen):
            "timed out after \(patience) waiting for \(what). "
                + (seen.isEmpty
                    ? "Nothing has happened" : "Last: " + seen.joined(separator: "; "))
                + ". Was it requested? Does the clock have to be advanced?"
        case .notSettled(let rounds):
            "client and broker still exchange messages after \(rounds) rounds: something answers every message"
        case .refused(let status, let message):
            "the broker refuses the request: \(status) \(message)"
        case .encoding(let reason): "the data cannot be encoded as JSON: \(reason)"
        case .noConnection(let socketID):
            "there is no open connection \(socketID)"
        }
    }
}
