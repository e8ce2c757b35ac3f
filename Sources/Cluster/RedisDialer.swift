package import Net
package import Redis

/// The server to which a simulated node connects.
package enum DialedServer: Sendable {
    /// The primary, for calls.
    case primary(RedisURL.Location)
    /// The primary, only for the confirmations of its replicas.
    case confirmations(RedisURL.Location)
    /// The Sentinel with an index among those that the node knows.
    case sentinel(Int)
}

/// Connects the homes of a simulated node to a simulated Redis; without it, a node connects to the server's address.
package protocol RedisDialer: AnyObject {
    /// Connects a shard to a server, whose address leads to the process that has it at present.
    ///
    /// Returns one end of a socketpair(2); the other one is closed if the server is unreachable. Throws the failed
    /// call.
    func dial(_ server: DialedServer, shard: Int) throws(SystemError) -> FileDescriptor

    /// Random numbers for the pauses between two attempts, and for the node's number.
    func random() -> UInt64
}
