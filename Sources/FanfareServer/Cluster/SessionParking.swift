import Broker
import Net
import Primitives
import PusherProtocol
import RESP
import Redis

// Storing sessions: when their connections end or yield, and while they are open.
extension ClusterHome {
    /// The time between two searches for sessions whose checkpoints are due.
    static var renewalInterval: Duration { .seconds(5) }
    /// The maximum number of sessions that are examined in one turn.
    static var renewedMax: Int { 256 }

    /// The index of a session's partition among those of this shard.
    func partition(of address: SessionAddress) -> Int {
        address.home(among: settings.partitionCount) / context.shardCount
    }

    /// The store that has a session's partition.
    func store(of address: SessionAddress) -> ClusterStore {
        partitions[partition(of: address)].store
    }

    /// The present epoch of a session's partition.
    func since(of address: SessionAddress) -> UInt64 {
        partitions[partition(of: address)].epoch?.since ?? 0
    }

    /// How long Redis keeps a session, in milliseconds: until its token cannot count as a new one.
    func sessionAge(of app: App?) -> Int {
        (app?.recovery.sessionAge ?? 0) * 1_000 + Int(SessionClaim.clockTolerance)
    }

    /// The maximum size of an app's sessions in one partition, in bytes.
    private func sessionBytesMax(of app: AppID) -> Int {
        guard let app = context.registry.apps[app] else { return 0 }
        return app.recovery.sessionBytesMax / settings.partitionCount
    }

    /// Stores the cursors of a connection that has ended, or yields.
    func park(_ handover: SessionHandover) {
        let address = handover.address
        guard let owned = sessions.owned[address], owned.claim.socketID == handover.socketID else {
            // Another connection has taken it over meanwhile.
            return
        }
        sessions.owned[address] = nil
        // Redis may have dropped the session since, and another node may have begun it anew.
        let idle = owned.renewedAt.duration(to: context.reactor.now)
        let isOld = idle >= .milliseconds(sessionAge(of: context.registry.apps[address.app]))
        let session = StoredSession(
            address,
            parkedAt: nil,
            handover.cursors,
            socketIDs: owned.formerSocketIDs.suffix(SessionResumption.socketIDCountMax - 1)
                + [handover.socketID],
            mayLackCursors: handover.mayLackCursors || isOld,
            answersPings: handover.answersPings
        )
        write(
            ClusterSessions.Write(
                address: address,
                connection: owned.claim.connection,
                parking: .park,
                session: session,
                addressDigest: owned.claim.addressDigest
            )
        )
    }

    /// Called when a superseded connection has answered a ping, so that two connected clients use the token.
    func share(_ address: SessionAddress, _ id: SocketID) {
        sessions.send(.share(address, id), id)
        write(
            ClusterSessions.Write(
                address: address,
                connection: ClusterSession.Connection(socketID: "\(id)", openedAt: 0),
                parking: .share,
                session: nil,
                addressDigest: 0
            )
        )
    }

    private func write(_ write: ClusterSessions.Write) {
        let index = partition(of: write.address)
        let state = write.session.map { SessionState($0, since: since(of: write.address)).bytes }
        let call = partitions[index].calls.park(
            write.address.clusterSession,
            of: write.connection,
            state ?? [],
            age: sessionAge(of: context.registry.apps[write.address.app]),
            write.parking,
            byteCountMax: sessionBytesMax(of: write.address.app),
            addressDigest: write.addressDigest
        )
        if send(call, to: index, as: .session(.write(write))) {
            sessions.unansweredWrites += 1
        } else {
            sessions.writes.append(write)
        }
    }

    // MARK: - Checkpoints

    /// Stores a session that its owner continues to use.
    func keep(_ session: StoredSession) {
        let address = session.address
        guard let owned = sessions.owned[address], owned.claim.socketID == session.socketIDs.last
        else { return }
        sessions.owned[address]?.since = since(of: address)
        let call = partitions[partition(of: address)].calls.park(
            address.clusterSession,
            of: owned.claim.connection,
            SessionState(session, since: since(of: address)).bytes,
            age: sessionAge(of: context.registry.apps[address.app]),
            .checkpoint,
            byteCountMax: sessionBytesMax(of: address.app),
            addressDigest: owned.claim.addressDigest
        )
        let isSent = send(
            call,
            to: partition(of: address),
            as: .session(.checkpoint(address, owned.claim.socketID))
        )
        sessions.owned[address]?.isDue = !isSent
    }

    /// Examines the next portion of the sessions, so that each is examined once in ``renewalInterval``.
    func renewSessions() {
        guard !isLeaving else { return }
        let count = sessions.renewals.count
        for _ in 0..<min(count, Self.renewedMax) {
            let (address, owner) = sessions.renewals.removeFirst()
            guard let owned = sessions.owned[address], owned.claim.socketID == owner else {
                continue
            }
            sessions.renewals.append((address, owner))
            renew(address, owned)
        }
        guard !sessions.renewals.isEmpty else { return }
        let portionCount = (count + Self.renewedMax - 1) / Self.renewedMax
        startTimer(.sessions, after: Self.renewalInterval / portionCount)
    }

    /// Asks the owner of a session for a checkpoint that is due.
    ///
    /// It is due if one was lost, if Redis has begun another epoch since, or if Redis would otherwise drop the session.
    private func renew(_ address: SessionAddress, _ owned: ClusterSessions.Ownership) {
        guard store(of: address).isOpen else { return }
        let age = sessionAge(of: context.registry.apps[address.app])
        let isOld = owned.renewedAt.duration(to: context.reactor.now) >= .milliseconds(age / 3)
        guard owned.isDue || isOld || owned.since != since(of: address) else { return }
        sessions.send(.requestCheckpoint(address, owned.claim.socketID), owned.claim.socketID)
    }

    // MARK: - Replies

    func receive(_ reply: borrowing RESPView, to call: ClusterSessions.Call) {
        switch call {
        case .claim(let id): claimed(reply, by: id)
        case .checkpoint(let address, let id): kept(reply, address, of: id)
        case .write(let write):
            sessions.unansweredWrites -= 1
            switch SessionParking(reply) {
            case .emptied: context.limitMet(.sessionBytes, of: write.address.app)
            case .outdated, .stored, .passedOn, .restored: break
            case nil:
                // Redis has no memory: the last checkpoint stays until it has.
                sessions.writes.append(write)
                startTimer(.writes, after: Self.renewalInterval)
            }
        }
    }

    private func kept(_ reply: borrowing RESPView, _ address: SessionAddress, of id: SocketID) {
        guard sessions.owned[address]?.claim.socketID == id else { return }
        switch SessionParking(reply) {
        case .outdated:
            // Another node has not waited for an answer.
            sessions.owned[address] = nil
            sessions.send(.yield(address, from: id, openedAt: 0), id)
        case .stored, .passedOn, .restored:
            sessions.owned[address]?.renewedAt = context.reactor.now
        case .emptied:
            sessions.owned[address]?.renewedAt = context.reactor.now
            context.limitMet(.sessionBytes, of: address.app)
        case nil: sessions.owned[address]?.isDue = true
        }
    }

    // MARK: - The connection to Redis

    /// Called with calls that Redis may or may not have executed, in their order.
    func loseSessions(_ unanswered: [ClusterCall]) {
        var writes: [ClusterSessions.Write] = []
        for case .session(let call) in unanswered {
            switch call {
            case .claim(let id): sessions.claims[id]?.isUncertain = true
            case .checkpoint(let address, _): sessions.owned[address]?.isDue = true
            case .write(let write): writes.append(write)
            }
        }
        sessions.writes = writes + sessions.writes
        sessions.unansweredWrites -= writes.count
    }

    /// Called when nothing of a store's partitions is received any more.
    func forgetInboxes(in store: ClusterStore) {
        sessions.inboxes = sessions.inboxes.filter { partitions[$0.value].store !== store }
        for (id, claim) in sessions.claims where self.store(of: claim.claim.address) === store {
            sessions.claims[id]?.awaitedSince = nil
        }
    }

    /// Called when there is a connection again.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - index: The index of the partition that has moved there; `nil` for all.
    func resumeSessions(in store: ClusterStore, partition index: Int? = nil) {
        func isMeant(_ address: SessionAddress) -> Bool {
            let partition = partition(of: address)
            return partitions[partition].store === store && index ?? partition == partition
        }
        for address in sessions.owned.keys where isMeant(address) {
            followInbox(of: partition(of: address))
        }
        writeWaitingSessions()
        // The later one of two connections of a client has to own the session.
        let claims = sessions.claims.values.sorted { $0.claim.openedAt < $1.claim.openedAt }
        for claim in claims where isMeant(claim.claim.address) {
            sendClaim(of: claim.claim.socketID)
        }
        if !sessions.owned.isEmpty { startTimer(.sessions, after: Self.renewalInterval) }
    }

    /// Stores the changes that could not be sent to Redis, or that it has refused.
    func writeWaitingSessions() {
        for write in exchange(&sessions.writes, with: []) { self.write(write) }
    }
}
