import Broker
import Net
import RESP
import Redis
import Synchronization

// The node's registration in each partition of a store, and its heartbeats there.
extension ClusterStore {
    /// Registers the node over a connection that was opened.
    func registerAll(with server: RedisServer) {
        let isSameRun = server.runID != nil && server.runID == lastRun
        if isSameRun, let lastClientID { kill(lastClientID) }
        (lastRun, lastClientID) = (server.runID, server.clientID)
        let former = identity
        let forgetsFailovers = context.faults.contains(.forgetsFailovers)
        identity = ServerIdentity(
            server,
            connection: "\(settings.node)/\(context.shard)/\(server.clientID)",
            configurationEpoch: forgetsFailovers ? 0 : primary?.configurationEpoch ?? 0
        )
        if context.faults.contains(.keepsEpochs), let former { identity = former }
        let ignoresEpochs = context.faults.contains(.ignoresEpochs)
        if ignoresEpochs { identity = ServerIdentity(run: "always the same") }
        unregistered = Set(partitions)
        if refusesSubscriptions, let index = partitions.first { probeSubscribing(in: index) }
        for index in partitions {
            let isKnown = isSameRun || ignoresEpochs
            register(index, known: isKnown ? 0 : home.partitions[index].newestKnown)
        }
        guard home.registration.claimsNumber(at: self) else { return }
        claimNumber()
        if isolation != .none { home.registration.sendReport() }
    }

    /// Ends the former connection at the server, which may not have noticed its end yet.
    ///
    /// What the node has sent over it must not be executed after what it sends from now on.
    private func kill(_ clientID: Int64) {
        send(["CLIENT", "KILL", "ID", "\(clientID)"], to: nil, as: UnawaitedCall())
    }

    /// How publishes are acknowledged.
    private var acknowledgement: Acknowledgement { replicas?.acknowledgement ?? .primary }

    /// Registers the node in a partition, and returns whether the call was sent.
    ///
    /// `known` is the newest stream of it that the node knows; 0 if the process is the one that it knows. `origin` is
    /// the process that has reported that the partition has moved away from it; `nil` if none has.
    @discardableResult
    func register(_ index: Int, known: UInt64, movedFrom origin: String? = nil) -> Bool {
        guard let identity else { return false }
        let partition = home.partitions[index]
        let call = partition.calls.register(
            with: identity,
            known: known,
            acknowledgement,
            in: partition.epoch,
            movedFrom: origin
        )
        return send(call, to: index, as: RegisterCall(partition: index, home: home))
    }

    /// Registers the node again after another one has declared it dead.
    func registerAgain(_ index: Int) {
        register(index, known: 0)
        home.users.follow(partition: index)
    }

    fileprivate func registered(_ reply: borrowing RESPView, _ index: Int) {
        guard let registration = Registration(reply) else {
            status.failed(reason(RedisError(reply)?.text ?? "an unknown reply to register"))
            connection?.close()
            return
        }
        unregistered.remove(index)
        endLossIfPossible()
        let store = home.partitions[index].store
        let isVouchedFor = store.transit?.vouchedRun != nil
        if store !== self { home.moves.arrived(index, at: self) }
        home.registration.registered(
            registration,
            index,
            at: identity?.run,
            isVouchedFor: isVouchedFor
        )
    }

    /// Subscribes to an unused pub/sub channel, to find out whether the server accepts subscriptions now.
    private func probeSubscribing(in index: Int) {
        let topic = home.partitions[index].calls.keys.report(of: settings.node)
        home.partitions.subscribe(to: ["\(topic)"], in: index)
    }

    /// Called when the server has accepted a subscription to a pub/sub channel.
    func wasSubscribed() {
        guard exchange(&refusesSubscriptions, with: false) else { return }
        endLossIfPossible()
    }

    /// Ends the loss of the former connection if the node is registered in all partitions and subscriptions are
    /// accepted.
    private func endLossIfPossible() {
        guard isOpen, !refusesSubscriptions, downSince != nil else { return }
        unregistered.formIntersection(partitions)
        if unregistered.isEmpty { wasAccepted() }
    }

    /// Called when the server does everything that the node needs, so that the loss of the former connection has ended.
    func wasAccepted() {
        backoff.reset()
        if home.registration.isReady, fullSince == nil { status.failed(nil) }
        endIsolation()
    }

    /// The reason of a fault, with the server.
    func reason(_ text: String) -> String { "\(address.url): the server has refused: \(text)" }

    /// How long the number of a node that does not renew it is reserved, in milliseconds.
    private static var numberLifetime: Int { 3_600_000 }

    /// Claims or renews the number of the node.
    func claimNumber() {
        let former = settings.status.number.load(ordering: .relaxed)
        let wanted = former > 0 ? former : randomNumber()
        let calls = home.partitions[0].calls
        let call = AwaitedCall { [self] reply in
            home.registration.receiveNumber(reply, from: self)
        }
        send(calls.claimNumber(former: wanted, lifetime: Self.numberLifetime), to: 0, as: call)
    }

    // MARK: - Heartbeats

    /// Called by the timer: renews the node in the next portion of the partitions, so that no other call waits for all
    /// renewals.
    func heartbeatIsDue() {
        guard isOpen, !home.partitions.isLeaving else { return }
        let (interval, count) = (ClusterSettings.heartbeatInterval, ClusterSettings.portionCount)
        let now = context.reactor.now
        // After a pause of the process, others may have declared it dead in any partition.
        if let last = lastHeartbeat, last.duration(to: now) >= interval { sendHeartbeats() }
        lastHeartbeat = now
        for place in stride(from: heartbeatPortion, to: partitions.count, by: count) {
            sendHeartbeat(in: partitions[place])
            home.shares.read(of: partitions[place])
        }
        if heartbeatPortion == 0 { beginRound() }
        home.channels.comparison.compareNext(in: self)
        if heartbeatPortion == 0 || fullSince != nil { askForMemory() }
        heartbeatPortion = (heartbeatPortion + 1) % count
        startTimer(.heartbeat, after: interval / count)
    }

    /// Performs the tasks of each heartbeat interval.
    private func beginRound() {
        if home.registration.claimsNumber(at: self) {
            claimNumber()
            home.registration.sendReport()
            home.usage.report()
        }
        home.channels.attachRefused(in: self)
        home.users.readRefusedStates()
        home.channels.comparison.begin(in: self)
    }

    /// Renews the node in all partitions.
    func sendHeartbeats() {
        for index in partitions { sendHeartbeat(in: index) }
    }

    /// Renews the node in a partition.
    func sendHeartbeat(in index: Int) {
        let call = home.partitions[index].calls
            .heartbeat(lease: settings.lease, acknowledgement, mayLead: home.leader.mayLead)
        send(call, to: index, as: HeartbeatCall(partition: index))
    }

    fileprivate func receiveHeartbeat(_ reply: borrowing RESPView, _ index: Int) {
        replicas?.announced()
        guard !home.partitions.isLeaving else { return }
        // Without memory Redis still answers; for any other answer, another connection is opened.
        guard let heartbeat = Heartbeat(reply) else {
            if let error = RedisError(reply) { status.failed(reason(error.text)) }
            connection?.close()
            return
        }
        guard heartbeat.epoch == home.partitions[index].epoch else {
            // The server has followed another one in between, so published messages may be lost.
            connection?.close()
            return
        }
        // An unregistered partition may have moved.
        endLossIfPossible()
        home.registration.received(heartbeat, of: index)
    }
}

/// A heartbeat in a partition.
struct HeartbeatCall: StoreCall {
    let partition: Int

    func received(_ reply: borrowing RESPView, from store: ClusterStore) {
        store.receiveHeartbeat(reply, partition)
    }

    func partitionMoved(from store: ClusterStore) { store.replicas?.announced() }
}

/// The registration of the node in a partition.
struct RegisterCall: StoreCall {
    let partition: Int
    unowned let home: ClusterHome

    func received(_ reply: borrowing RESPView, from store: ClusterStore) {
        store.registered(reply, partition)
    }

    /// Receives the reply of the store to which the partition is on its way.
    func received(_ reply: borrowing RESPView, fromOther store: ClusterStore) {
        guard home.partitions[partition].store.transit?.probed === store else { return }
        received(reply, from: store)
        if home.partitions[partition].store === store {
            home.moves.goOn(behindMoveOf: partition, to: store)
        }
    }

    func redirected(by error: RedisError, from store: ClusterStore) {
        home.moves.registrationRedirected(by: error, from: store, in: partition)
    }
}
