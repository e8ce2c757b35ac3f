import Archive
import Broker
import Net
import Primitives
import PusherProtocol
import Redis

/// The sessions of stock clients with a token whose home is one shard, in a cluster.
///
/// Redis has the owner of each session and the data last stored; the owning connection has newer data. The data here is
/// known from Redis's answers, or waits for them.
struct ClusterSessions {
    /// A claim that Redis has not decided.
    struct Claim {
        let claim: SessionClaim
        /// Whether it was sent over a connection that has ended, so that the answer is unknown.
        var isUncertain = false
        /// Since when another node has been asked to yield; `nil` if none is.
        var awaitedSince: MonotonicTime?
        /// When Redis has refused it; `nil` if it has not.
        var refusedAt: MonotonicTime?
    }

    /// A session that a connection of this node owns.
    struct Ownership {
        let claim: SessionClaim
        /// The last socket IDs of the client before this connection.
        let formerSocketIDs: [SocketID]
        /// When Redis has last stored it, or reported its owner.
        var renewedAt: MonotonicTime
        /// The epoch at that time.
        var since: UInt64
        /// Whether a checkpoint was lost.
        var isDue = false
    }

    /// A change that Redis must store even if the connection is lost.
    struct Write {
        let address: SessionAddress
        let connection: ClusterSession.Connection
        let parking: ClusterSession.Parking
        /// The parked session; `nil` for a session that two clients use.
        let session: StoredSession?
        /// A digest of the client's address; 0 if it is not known.
        let addressDigest: UInt32
    }

    /// The purpose of a call, for its reply.
    enum Call {
        case claim(SocketID)
        case checkpoint(SessionAddress, SocketID)
        case write(Write)
    }

    /// The claims, by their connections.
    var claims: [SocketID: Claim] = [:]
    /// The sessions of this node's connections.
    var owned: [SessionAddress: Ownership] = [:]
    /// The owners of sessions, in the order in which their checkpoints are examined; some no longer own theirs.
    var renewals = Queue<(address: SessionAddress, owner: SocketID)>()
    /// The changes that wait for Redis, in their order.
    var writes: [Write] = []
    /// The number of changes that are sent and not answered.
    var unansweredWrites = 0
    /// The partitions in which this node's inbox is subscribed over the present connections, by the inboxes' names.
    var inboxes: [String: Int] = [:]
    /// Sends a message to a connection's shard.
    var send: (SessionMessage, SocketID) -> Void = { _, _ in }

    /// The number of claims and changes that wait for Redis.
    var waitingCount: Int { claims.count + writes.count }

    /// Forgets everything, with the shard.
    mutating func removeAll() { self = ClusterSessions() }
}

extension SessionAddress {
    /// The session as Redis identifies it: by the digest of its token.
    var clusterSession: ClusterSession {
        func digits(_ half: UInt64) -> String {
            let text = String(half, radix: 16)
            return String(repeating: "0", count: 16 - text.count) + text
        }
        return ClusterSession(app: app.text, token: digits(key.high) + digits(key.low))
    }

    /// Reads the name of a session; `nil` for another form.
    init?(_ session: ClusterSession) {
        let token = session.token
        guard token.utf8.count == 32, let high = UInt64(token.prefix(16), radix: 16),
            let low = UInt64(token.suffix(16), radix: 16)
        else { return nil }
        self.init(app: AppID(session.app), key: SessionKey(high: high, low: low))
    }
}

extension SessionClaim {
    /// The connection as Redis identifies it.
    ///
    /// Its opening time is in microseconds, which a script's numbers can represent.
    var connection: ClusterSession.Connection {
        ClusterSession.Connection(socketID: "\(socketID)", openedAt: openedAt / 1_000)
    }
}

/// The state of a session in Redis: the epoch in which it was written, and its record.
struct SessionState {
    let since: UInt64
    let session: StoredSession

    init(_ session: StoredSession, since: UInt64) {
        self.session = session
        self.since = since
    }

    /// Reads a state; `nil` if it is empty, damaged or of another version.
    init?(_ bytes: [UInt8], of address: SessionAddress) {
        guard let space = bytes.firstIndex(of: UInt8(ascii: " ")),
            let since = UInt64(safe: Array(bytes[..<space]).span),
            let session = SessionCoding.session(
                address,
                parkedAt: nil,
                record: Array(bytes[(space + 1)...])
            )
        else { return nil }
        self.init(session, since: since)
    }

    var bytes: [UInt8] { Array("\(since) ".utf8) + SessionCoding.record(of: session) }
}
