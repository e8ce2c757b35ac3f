package import Broker
import Net
package import PusherProtocol

/// Decides about the sessions whose home is a shard: which connection owns each.
///
/// Its answers are ``SessionMessage``s to the shards of the connections.
package protocol SessionAuthority: AnyObject {
    /// Makes a connection the owner of its session.
    func claim(_ claim: SessionClaim)

    /// Stores the cursors of a connection that has ended, or yields.
    func park(_ handover: SessionHandover)

    /// Called when a superseded connection has answered a ping, so that two connected clients use the token.
    func share(_ address: SessionAddress, _ id: SocketID)

    /// Stores a session that its owner continues to use.
    func keep(_ session: StoredSession)
}
