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
            register(index, known: isKnown ? 0 : home.newestStream(in: index))
        }
        guard home.claimsNumber(at: self) else { return }
        claimNumber()
        if isolation != .none { home.sendReport() }
    }

    /// Ends the former connection at the server, which may not have noticed its end yet.
    ///
    /// What the node has sent over it must not be executed after what it sends from now on.
    private func kill(_ clientID: Int64) {
        send(["CLIENT", "KILL", "ID", "\(clientID)"], to: nil, as: .unawaited)
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
        return send(call, to: index, as: .register(partition: index))
    }

    /// Registers the node again after another one has declared it dead.
    func registerAgain(_ index: Int) {
        register(index, known: 0)
        home.followUsers(in: index)
    }

    func registered(_ reply: borrowing RESPView, _ index: Int) {
        guard let registration = Registration(reply) else {
            status.failed(reason(RedisError(reply)?.text ?? "an unknown reply to register"))
            connection?.close()
            return
        }
        unregistered.remove(index)
        endLossIfPossible()
        let store = home.partitions[index].store
        let isVouchedFor = store.transit?.vouchedRun != nil
        if store !== self { home.arrived(index, at: self) }
        home.registered(registration, index, at: identity?.run, isVouchedFor: isVouchedFor)
    }

    /// Subscribes to an unused pub/sub channel, to find out whether the server accepts subscriptions now.
    private func probeSubscribing(in index: Int) {
        let topic = home.partitions[index].calls.keys.report(of: settings.node)
        _ = home.subscribe(to: ["\(topic)"], in: index)
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
        if home.isReady, fullSince == nil { status.failed(nil) }
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
        send(
            calls.claimNumber(former: wanted, lifetime: Self.numberLifetime),
            to: 0,
            as: .claimNumber
        )
    }

    // MARK: - Heartbeats

    /// Called by the timer: renews the node in the next portion of the partitions, so that no other call waits for all
    /// renewals.
    func heartbeatIsDue() {
        guard isOpen, !home.isLeaving else { return }
        let (interval, count) = (ClusterSettings.heartbeatInterval, ClusterSettings.portionCount)
        let now = context.reactor.now
        // After a pause of the process, others may have declared it dead in any partition.
        if let last = lastHeartbeat, last.duration(to: now) >= interval { sendHeartbeats() }
        lastHeartbeat = now
        for place in stride(from: heartbeatPortion, to: partitions.count, by: count) {
            sendHeartbeat(in: partitions[place])
            home.readUses(of: partitions[place])
        }
        if heartbeatPortion == 0 { beginRound() }
        home.compareNext(in: self)
        if heartbeatPortion == 0 || fullSince != nil { askForMemory() }
        heartbeatPortion = (heartbeatPortion + 1) % count
        startTimer(.heartbeat, after: interval / count)
    }

    /// Performs the tasks of each heartbeat interval.
    private func beginRound() {
        if home.claimsNumber(at: self) {
            claimNumber()
            home.sendReport()
            home.exchangeUsage()
        }
        home.attachRefused(in: self)
        home.readRefusedStates()
        home.beginComparison(in: self)
    }

    /// Renews the node in all partitions.
    func sendHeartbeats() {
        for index in partitions { sendHeartbeat(in: index) }
    }

    /// Renews the node in a partition.
    func sendHeartbeat(in index: Int) {
        let call = home.partitions[index].calls
            .heartbeat(lease: settings.lease, acknowledgement, mayLead: home.mayLead)
        send(call, to: index, as: .heartbeat(partition: index))
    }

    func receiveHeartbeat(_ reply: borrowing RESPView, _ index: Int) {
        replicas?.announced()
        guard !home.isLeaving else { return }
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
        home.received(heartbeat, of: index)
    }
}

extension ClusterHome {
    /// Whether this shard claims the node's number, in this store.
    func claimsNumber(at store: ClusterStore) -> Bool {
        context.shard == 0 && partitions[0].store === store
    }

    func receiveNumber(_ reply: borrowing RESPView, from store: ClusterStore) {
        let former = settings.status.number.load(ordering: .relaxed)
        guard let number = reply.integer, (1...1_023).contains(number) else {
            store.status.failed(RedisError(reply)?.text ?? "there are 1,023 nodes already")
            return
        }
        guard former != 0 else {
            settings.status.number.store(Int(number), ordering: .relaxed)
            sendReport()
            return becomeReadyIfPossible()
        }
    }

    /// Called when the node is registered in a partition at a server process, with the server's answer.
    ///
    /// `isVouchedFor` is whether the former server has said that the partition continues here.
    func registered(
        _ registration: Registration,
        _ index: Int,
        at run: String?,
        isVouchedFor: Bool
    ) {
        let former = partitions[index].epoch
        // A server that is promoted begins a later epoch than those that it knows. One with an equal or earlier epoch
        // has never known the epoch of the former server. So nothing that was received from that server tells the
        // position of a channel here.
        if let former, !isVouchedFor, registration.epoch.since <= former.since,
            partitions[index].run != run
        {
            for remote in partitions[index].channels { remote.since = 0 }
        }
        partitions[index].run = run
        partitions[index].counter = registration.counter
        partitions[index].lastTime = registration.time
        (partitions[index].epoch, partitions[index].base) = (registration.epoch, registration.base)
        if former == nil { becomeReadyIfPossible() } else { reconcile(index) }
    }

    /// Called when a heartbeat in a partition is answered.
    func received(_ heartbeat: Heartbeat, of index: Int) {
        partitions[index].counter = heartbeat.counter
        partitions[index].lastTime = heartbeat.time
        reap(heartbeat.dead, in: index)
        setLeads(heartbeat.leads, in: index)
        guard !heartbeat.isRegistered, !context.faults.contains(.ignoresFence) else { return }
        takenForDead(in: index)
    }

    /// Called when another node has declared this one dead in a partition, which has none of its data any more.
    func takenForDead(in index: Int) {
        let store = partitions[index].store
        store.registerAgain(index)
        for remote in partitions[index].channels where remote.countedSubscriptions > 0 {
            setCountedSubscriptions(0, of: remote)
            guard remote.isCurrent else {
                // Reading of missed messages continues; after it the node is attached again.
                remote.hasJoinedAgain = false
                continue
            }
            remote.fellBehind(at: partitions[index].counter)
            store.behind.append(remote)
        }
        catchUpNext(in: store)
    }

    /// The newest stream that this node knows in a partition, or the epoch that it knows if that is newer.
    ///
    /// Without the epoch, a former primary that is promoted again would continue with its own. Then messages published
    /// in between at another server would be lost, and clients with earlier positions would not be notified.
    func newestStream(in index: Int) -> UInt64 {
        max(partitions[index].epoch?.since ?? 0, partitions[index].newestStream)
    }

    private func becomeReadyIfPossible() {
        guard !isReady, partitions.allSatisfy({ $0.epoch != nil }),
            context.shard != 0 || settings.status.number.load(ordering: .relaxed) > 0
        else { return }
        isReady = true
        for store in stores { store.status.failed(nil) }
        settings.status.readyCount.add(1, ordering: .releasing)
    }
}
