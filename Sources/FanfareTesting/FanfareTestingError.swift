/// What goes wrong in a test, and what to do about it.
public enum FanfareTestingError: Error, Equatable, Sendable {
    /// The condition did not come about within this real time; `seen` is what happened last.
    case waitedInVain(for: String, within: Duration, seen: [String])
    /// Client and broker go on talking: there was more to deliver after so many rounds.
    case restless(rounds: Int)
    /// The broker refuses what the test triggers, with the status of the HTTP API.
    case refused(status: Int, message: String)
    /// The data cannot be written as JSON.
    case encoding(String)
    /// No open connection has this id.
    case noConnection(socketID: String)
}

extension FanfareTestingError: CustomStringConvertible {
    /// What happened and what helps.
    public var description: String {
        switch self {
        case .waitedInVain(let what, let patience, let seen):
            "waited \(patience) in vain for \(what). "
                + (seen.isEmpty
                    ? "Nothing has happened" : "Last: " + seen.joined(separator: "; "))
                + ". Is it asked for, and does it need the clock to be advanced?"
        case .restless(let rounds):
            "client and broker still talk after \(rounds) rounds: something answers every message"
        case .refused(let status, let message):
            "the broker refuses this: \(status) \(message)"
        case .encoding(let reason): "the data cannot be written as JSON: \(reason)"
        case .noConnection(let socketID):
            "there is no connection \(socketID): it was never opened, or has been closed"
        }
    }
}
