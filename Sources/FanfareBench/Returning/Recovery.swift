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
