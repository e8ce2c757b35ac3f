import ArgumentParser

/// How a client gets what it missed while it had no connection.
enum Recovery: String, CaseIterable, ExpressibleByArgument, Sendable {
    /// The client sends its position, as the SDKs, `fanfare.js` and the add-on for pusher-js do.
    case position
    /// The server keeps the client's position by the token in its path, as for a stock client.
    case token
    /// Not at all, as a stock client without a token.
    case none
}

/// The session tokens of a run's clients.
struct RecoveryTokens {
    /// What all tokens begin with; nil if the clients have none.
    private let start: String?

    /// Creates the tokens of clients that begin now, in seconds since 1970.
    init(_ recovery: Recovery, unixTime: Int64) {
        guard recovery == .token else {
            start = nil
            return
        }
        let run = String(UInt64.random(in: .min ... .max), radix: 16)
        start = "\(String(unixTime * 1_000, radix: 36))-\(run)-0123456789-"
    }

    /// A client's token: a time in base 36, a dash, and 16 to 64 characters of its own.
    subscript(index: Int) -> String? { start.map { "\($0)\(index)" } }
}
