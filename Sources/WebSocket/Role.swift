/// Which side of a connection speaks: only a client masks what it sends (RFC 6455 §5.1).
public enum Role: Sendable, Hashable {
    /// The side that opened the connection.
    case client
    /// The side that accepted it.
    case server
}
