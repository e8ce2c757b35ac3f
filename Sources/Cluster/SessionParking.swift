import Broker
import Net
import Primitives
import PusherProtocol
import RESP
import Redis
import Shard

// Storing sessions: when their connections end or yield, and while they are open.
extension SharedSessions {
    /// The time between two searches for sessions whose checkpoints are due.
    static var renewalInterval: Duration { .seconds(5) }
    /// The maximum number of sessions that are examined in one turn.
    static var renewedMax: Int { 256 }

    /// How long Redis keeps a session, in milliseconds: until its token cannot count as a new one.
    func sessionAge(of app: App?) -> Int {
        (app?.recovery.sessionAge ?? 0) * 1_000 + Int(SessionClaim.clockTolerance)
    }

    /// The maximum size of an app's sessions in one partition, in bytes.
    private func sessionBytesMax(of app: AppID) -> Int {
        guard let app = context.registry.apps[app] else { return 0 }
        return app.recovery.sessionBytesMax / partitions.settings.partitionCount
    }

    /// Stores the cursors of a connection that has ended, or yields.
    func park(_ handover: SessionHandover) {
        let address = handover.address
        guard let ownership = owned[address], ownership.claim.socketID == handover.socketID else {
            // Another connection has taken it over meanwhile.
            return
        }
        owned[address] = nil
        // Redis may have dropped the session since, and another node may have begun it anew.
        let idle = ownership.renewedAt.duration(to: context.reactor.now)
        let isOld = idle >= .milliseconds(sessionAge(of: context.registry.apps[address.app]))
        let session = StoredSession(
            address,
            parkedAt: nil,
            handover.cursors,
            socketIDs: ownership.formerSocketIDs.suffix(SessionResumption.socketIDCountMax - 1)
                + [handover.socketID],
            mayLackCursors: handover.mayLackCursors || isOld,
            answersPings: handover.answersPings
        )
        write(
            Write(
                address: address,
                connection: ownership.claim.connection,
                parking: .park,
                session: session,
                addressDigest: ownership.claim.addressDigest
            )
        )
    }

    /// Called when a superseded connection has answered a ping, so that two connected clients use the token.
    func share(_ address: SessionAddress, _ id: SocketID) {
        service.send(.share(address, id), toShardOf: id)
        write(
            Write(
                address: address,
                connection: ClusterSession.Connection(socketID: "\(id)", openedAt: 0),
                parking: .share,
                session: nil,
                addressDigest: 0
            )
        )
    }

    private func write(_ write: Write) {
        if send(write, for: .write(write)) { unansweredWrites += 1 } else { writes.append(write) }
    }

    private func send(_ write: Write, for purpose: SessionCall.Purpose) -> Bool {
        let index = partitions.index(of: write.address)
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
        return send(call, to: index, purpose)
    }

    // MARK: - Checkpoints

    /// Stores a session that its owner continues to use.
    func keep(_ session: StoredSession) {
        let address = session.address
        guard let claim = owned[address]?.claim, claim.socketID == session.socketIDs.last
        else { return }
        owned[address]?.since = since(of: address)
        let checkpoint = Write(
            address: address,
            connection: claim.connection,
            parking: .checkpoint,
            session: session,
            addressDigest: claim.addressDigest
        )
        owned[address]?.isDue = !send(checkpoint, for: .checkpoint(address, claim.socketID))
    }

    /// Examines the next portion of the sessions, so that each is examined once in ``renewalInterval``.
    func renewSessions() {
        guard !partitions.isLeaving else { return }
        let count = renewals.count
        for _ in 0..<min(count, Self.renewedMax) {
            let (address, owner) = renewals.removeFirst()
            guard let ownership = owned[address], ownership.claim.socketID == owner else {
                continue
            }
            renewals.append((address, owner))
            renew(address, ownership)
        }
        guard !renewals.isEmpty else { return }
        let portionCount = (count + Self.renewedMax - 1) / Self.renewedMax
        renewing.schedule(after: Self.renewalInterval / portionCount)
    }

    /// Asks the owner of a session for a checkpoint that is due.
    ///
    /// It is due if one was lost, if Redis has begun another epoch since, or if Redis would otherwise drop the session.
    private func renew(_ address: SessionAddress, _ owned: Ownership) {
        guard partition(of: address).store.isOpen else { return }
        let age = sessionAge(of: context.registry.apps[address.app])
        let isOld = owned.renewedAt.duration(to: context.reactor.now) >= .milliseconds(age / 3)
        guard owned.isDue || isOld || owned.since != since(of: address) else { return }
        let owner = owned.claim.socketID
        service.send(.requestCheckpoint(address, owner), toShardOf: owner)
    }

    // MARK: - Replies

    func written(_ reply: borrowing RESPView, _ write: Write) {
        unansweredWrites -= 1
        switch SessionParking(reply) {
        case .emptied: context.limitMet(.sessionBytes, of: write.address.app)
        case .outdated, .stored, .passedOn, .restored: break
        case nil:
            // Redis has no memory: the last checkpoint stays until it has.
            writes.append(write)
            writing.schedule(after: Self.renewalInterval)
        }
    }

    func kept(_ reply: borrowing RESPView, _ address: SessionAddress, of id: SocketID) {
        guard owned[address]?.claim.socketID == id else { return }
        switch SessionParking(reply) {
        case .outdated:
            // Another node has not waited for an answer.
            owned[address] = nil
            service.send(.yield(address, from: id, openedAt: 0), toShardOf: id)
        case .stored, .passedOn, .restored:
            owned[address]?.renewedAt = context.reactor.now
        case .emptied:
            owned[address]?.renewedAt = context.reactor.now
            context.limitMet(.sessionBytes, of: address.app)
        case nil: owned[address]?.isDue = true
        }
    }

    /// Stores the changes that could not be sent to Redis, or that it has refused.
    func writeWaiting() {
        for write in exchange(&writes, with: []) { self.write(write) }
    }
}
