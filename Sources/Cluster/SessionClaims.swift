import Broker
import Net
import Primitives
import PusherProtocol
import RESP
import Redis
import Shard

// Claims: a connection becomes the owner of its session, wherever the former owner was connected.
//
// The node of a connected owner is asked through its inbox to yield, and parks the cursors, which Redis passes on. If
// an owner does not answer, its session continues from the last checkpoint: then more is redelivered, and nothing is
// skipped.
extension SharedSessions {
    /// The time within which the node of an owner has to answer.
    private static var yieldTimeout: Duration { .seconds(2) }
    /// The time between two checks of waiting claims.
    private static var retryInterval: Duration { .milliseconds(250) }
    /// The maximum number of forgotten sessions that are counted for one claim.
    private static var reportedSessionsMax: Int64 { 1_000 }
    /// The longest time for which a connection counts as open, in milliseconds: a year.
    private static var openForMax: Int64 { 366 * 24 * 3_600_000 }
    /// How late another node may learn of a claim, in nanoseconds: twice the time within which Redis has to answer.
    private static var yieldDelayMax: Int64 { 6_000_000_000 }

    /// Makes a connection the owner of its session.
    func claim(_ claim: SessionClaim) {
        guard partition(of: claim.address).store.isolation != .closed else {
            return delivery.close(claim.socketID)
        }
        claims[claim.socketID] = Claim(claim: claim)
        sendClaim(of: claim.socketID)
    }

    func sendClaim(of id: SocketID, takes: Bool = false) {
        guard let claim = claims[id]?.claim,
            let app = context.registry.apps[claim.address.app]
        else { return }
        let index = partitions.index(of: claim.address)
        guard partitions[index].store.isOpen else { return }
        claims[id]?.awaitedSince = nil
        claims[id]?.refusedAt = nil
        followInbox(of: index)
        let count = partitions.settings.partitionCount
        let openFor = context.reactor.now.nanoseconds - claim.openedAt
        let call = partitions[index].calls.claim(
            claim.address.clusterSession,
            for: claim.connection,
            age: sessionAge(of: app),
            sessionsMax: max(1, (app.recovery.sessionsMax + count - 1) / count),
            openFor: Int(max(0, openFor / 1_000_000)),
            takes: takes
        )
        send(call, to: index, .claim(id))
    }

    func claimed(_ reply: borrowing RESPView, by id: SocketID) {
        // Another message has already answered it, or the client was closed.
        guard let pending = claims[id] else { return }
        let claim = pending.claim
        guard let answer = ClaimedSession(reply), let app = context.registry.apps[claim.address.app]
        else {
            claims[id]?.refusedAt = context.reactor.now
            return retrying.schedule(after: Self.retryInterval)
        }
        for _ in 0..<min(answer.forgottenCount, Self.reportedSessionsMax) {
            context.limitMet(.recoverySessions, of: app.id)
        }
        switch answer.outcome {
        case .new:
            let mayLackCursors = !isNew(claim, answer, app)
            own(claim, SessionResumption(mayLackCursors: mayLackCursors))
        case .full:
            context.limitMet(.recoverySessions, of: app.id)
            let full = SessionAnswer.full(
                sessionsMax: app.recovery.sessionsMax,
                mayLackCursors: !isNew(claim, answer, app)
            )
            self.answer(claim, full)
        case .resumed: own(claim, resumption(from: answer.state, claim, pending.isUncertain))
        case .checkpoint: own(claim, resumption(from: answer.state, claim, true))
        case .awaited:
            claims[id]?.awaitedSince = context.reactor.now
            retrying.schedule(after: Self.retryInterval)
        case .superseded: self.answer(claim, .superseded)
        case .shared: self.answer(claim, .shared)
        }
    }

    /// Whether the token of a session that Redis does not know was certainly never used.
    private func isNew(_ claim: SessionClaim, _ answer: ClaimedSession, _ app: App) -> Bool {
        // Sessions from before an epoch that was not clean may be lost.
        let base = Int64(clamping: partition(of: claim.address).base)
        return claim.isNew(
            behind: max(base, answer.lastForgottenAt ?? 0),
            sessionAge: app.recovery.sessionAge,
            at: context.reactor.unixMilliseconds
        )
    }

    /// The state with which a session continues, from the record stored by Redis.
    ///
    /// `isOld` is whether the former owner may have had newer data.
    private func resumption(
        from bytes: [UInt8],
        _ claim: SessionClaim,
        _ isOld: Bool
    ) -> SessionResumption {
        guard let state = SessionState(bytes, of: claim.address) else {
            return SessionResumption(mayLackCursors: true)
        }
        let base = partition(of: claim.address).base
        return SessionResumption(
            state.session.cursors,
            formerSocketIDs: state.session.socketIDs,
            mayLackCursors: state.session.mayLackCursors || isOld || state.since < base,
            answersPings: state.session.answersPings
        )
    }

    private func own(_ claim: SessionClaim, _ resumption: SessionResumption) {
        if let former = owned[claim.address]?.claim.socketID, former != claim.socketID {
            // It has not answered; what it hands over now is out of date.
            service.send(.yield(claim.address, from: former, openedAt: 0), toShardOf: former)
        }
        if owned[claim.address]?.claim.socketID != claim.socketID {
            renewals.append((claim.address, claim.socketID))
        }
        owned[claim.address] = Ownership(
            claim: claim,
            formerSocketIDs: resumption.formerSocketIDs,
            renewedAt: context.reactor.now,
            since: since(of: claim.address)
        )
        renewing.schedule(after: Self.renewalInterval)
        answer(claim, .owned(resumption))
    }

    private func answer(_ claim: SessionClaim, _ answer: SessionAnswer) {
        claims[claim.socketID] = nil
        service.send(.answer(answer, claim.address, to: claim.socketID), toShardOf: claim.socketID)
    }

    // MARK: - The inbox

    /// Subscribes to this node's inbox in a partition; `SUBSCRIBE` precedes the first claim there.
    func followInbox(of index: Int) {
        let calls = partitions[index].calls
        let topic = "\(calls.keys.inbox(of: calls.node))"
        guard partitions[index].store.isOpen, inboxes[topic] == nil else { return }
        inboxes[topic] = index
        partitions.subscribe(to: [topic], in: index)
    }

    /// Receives what another node, or a script, has sent to this node, and returns whether a pub/sub channel is its
    /// inbox.
    func receive(_ message: borrowing RESPView, at topic: String) -> Bool {
        guard let index = inboxes[topic] else { return false }
        if let message = InboxMessage(message.copy()) {
            receive(message)
        } else {
            partitions.refused(topic, by: partitions[index].store)
        }
        return true
    }

    private func receive(_ message: InboxMessage) {
        guard let address = SessionAddress(message.session),
            let id = SocketID(message.socketID)
        else { return }
        switch message.content {
        case .yield(let openFor): yield(address, id, to: openFor)
        case .yielded(let state):
            guard let claim = claims[id]?.claim else { return }
            own(claim, resumption(from: state, claim, false))
        case .superseded:
            guard let claim = claims[id]?.claim else { return }
            answer(claim, .superseded)
        case .shared:
            if let claim = claims[id]?.claim {
                answer(claim, .shared)
            } else if owned[address]?.claim.socketID == id {
                owned[address] = nil
                service.send(.share(address, id), toShardOf: id)
            }
        }
    }

    /// Asks the owner of a session for its cursors; the claiming connection has been open for `openFor` milliseconds.
    private func yield(_ address: SessionAddress, _ id: SocketID, to openFor: Int64) {
        guard owned[address]?.claim.socketID == id else { return }
        // Confirmations count as they were when that connection was opened, by this node's clock.
        let own = claims.values.filter { $0.claim.address == address }
        let openedAt =
            own.map(\.claim.openedAt).max()
            ?? context.reactor.now.nanoseconds - min(openFor, Self.openForMax) * 1_000_000
            - Self.yieldDelayMax
        service.send(.yield(address, from: id, openedAt: openedAt), toShardOf: id)
    }

    // MARK: - Waiting claims

    /// Takes sessions over from owners that do not answer, and repeats the calls that Redis has refused.
    func retryClaims() {
        let now = context.reactor.now
        func isOver(_ time: MonotonicTime?) -> Bool {
            time.map { $0.duration(to: now) >= Self.yieldTimeout } ?? false
        }
        for (id, claim) in claims {
            if isOver(claim.awaitedSince) {
                sendClaim(of: id, takes: true)
            } else if isOver(claim.refusedAt) {
                sendClaim(of: id)
            }
        }
        let waits = claims.values.contains {
            $0.awaitedSince != nil || $0.refusedAt != nil
        }
        if waits { retrying.schedule(after: Self.retryInterval) }
    }

    /// Closes the clients whose claims cannot be decided, so that they reconnect to another node.
    func closeClaimants(of store: ClusterStore) {
        for (id, claim) in claims where partition(of: claim.claim.address).store === store {
            claims[id] = nil
            delivery.close(id)
        }
    }
}
