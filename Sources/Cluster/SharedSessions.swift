import Broker
import Net
import Primitives
import PusherProtocol
import RESP
import Redis
import Shard

/// The sessions of stock clients with a token whose home is this shard.
///
/// Redis has the owner of each session and the data last stored; the owning connection has newer data. The data here is
/// known from Redis's answers, or waits for them.
final class SharedSessions: SessionAuthority {
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

    let partitions: Partitions
    // It owns this object.
    unowned let service: SessionService
    let delivery: LocalDelivery
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
    lazy var retrying = DelayedWork(on: context.reactor) { [unowned self] in retryClaims() }
    lazy var renewing = DelayedWork(on: context.reactor) { [unowned self] in renewSessions() }
    lazy var writing = DelayedWork(on: context.reactor) { [unowned self] in writeWaiting() }

    init(_ partitions: Partitions, _ service: SessionService, _ delivery: LocalDelivery) {
        (self.partitions, self.service, self.delivery) = (partitions, service, delivery)
    }

    var context: ShardContext { partitions.context }

    /// The number of claims and changes that wait for Redis.
    var waitingCount: Int { claims.count + writes.count }

    /// Forgets everything, with the shard.
    func removeAll() {
        (claims, owned, renewals) = ([:], [:], Queue())
        (writes, unansweredWrites, inboxes) = ([], 0, [:])
    }

    // MARK: - Places

    /// The partition of a session.
    func partition(of address: SessionAddress) -> Partition {
        partitions[partitions.index(of: address)]
    }

    /// The present epoch of a session's partition.
    func since(of address: SessionAddress) -> UInt64 { partition(of: address).epoch?.since ?? 0 }

    // MARK: - The connection to Redis

    /// Sends a call about a session, and returns whether it was sent.
    @discardableResult
    func send(_ call: ScriptCall, to index: Int, _ purpose: SessionCall.Purpose) -> Bool {
        let session = SessionCall(sessions: self, partition: index, purpose: purpose)
        return partitions.send(call, to: index, as: session)
    }

    /// Called with calls that Redis may or may not have executed, in their order.
    func lost(_ unanswered: [any StoreCall]) {
        var writes: [Write] = []
        for case let call as SessionCall in unanswered {
            switch call.purpose {
            case .claim(let id): claims[id]?.isUncertain = true
            case .checkpoint(let address, _): owned[address]?.isDue = true
            case .write(let write): writes.append(write)
            }
        }
        self.writes = writes + self.writes
        unansweredWrites -= writes.count
    }

    /// Called when nothing of a store's partitions is received any more.
    func forgetInboxes(in store: ClusterStore) {
        inboxes = inboxes.filter { partitions[$0.value].store !== store }
        for (id, claim) in claims where partition(of: claim.claim.address).store === store {
            claims[id]?.awaitedSince = nil
        }
    }

    /// Called when there is a connection again.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - index: The index of the partition that has moved there; `nil` for all.
    func resume(in store: ClusterStore, partition index: Int? = nil) {
        func isMeant(_ address: SessionAddress) -> Bool {
            partitions.has(store, partitions.index(of: address), only: index)
        }
        for address in owned.keys where isMeant(address) {
            followInbox(of: partitions.index(of: address))
        }
        writeWaiting()
        // The later one of two connections of a client has to own the session.
        let waiting = claims.values.sorted { $0.claim.openedAt < $1.claim.openedAt }
        for claim in waiting where isMeant(claim.claim.address) {
            sendClaim(of: claim.claim.socketID)
        }
        if !owned.isEmpty { renewing.schedule(after: Self.renewalInterval) }
    }
}

/// A call about a session.
struct SessionCall: StoreCall {
    enum Purpose {
        case claim(SocketID)
        case checkpoint(SessionAddress, SocketID)
        case write(SharedSessions.Write)
    }

    unowned let sessions: SharedSessions
    /// The index of the session's partition.
    let partition: Int
    let purpose: Purpose

    func received(_ reply: borrowing RESPView, from store: ClusterStore) {
        switch purpose {
        case .claim(let id): sessions.claimed(reply, by: id)
        case .checkpoint(let address, let id): sessions.kept(reply, address, of: id)
        case .write(let write): sessions.written(reply, write)
        }
    }

    /// The partition's next store continues with it.
    func partitionMoved(from store: ClusterStore) {
        sessions.partitions[partition].store.transit?.calls.append(self)
    }
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
