package import Broker
package import PusherProtocol

/// A message between shards about the session of a stock client with a token.
package enum SessionMessage: Sendable {
    /// To the session's home: a connection claims the session.
    case claim(SessionClaim)
    /// To the session's home: the cursors of an owner that has ended, or has been superseded.
    case handOver(SessionHandover)
    /// To the session's home: a superseded connection has answered a ping.
    case isAlive(SessionAddress, SocketID)
    /// To the session's home in a cluster: the session in its owner's present state.
    case checkpoint(StoredSession)
    /// From the home: the answer to a claim.
    case answer(SessionAnswer, SessionAddress, to: SocketID)
    /// From the home: the owner has to hand its cursors over, as they were at this time in nanoseconds.
    case yield(SessionAddress, from: SocketID, openedAt: Int64)
    /// From the home in a cluster: the owner has to send the present state of the session.
    case requestCheckpoint(SessionAddress, SocketID)
    /// From the home: two connected clients use the token.
    case share(SessionAddress, SocketID)
}
