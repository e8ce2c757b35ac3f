import Broker
import RESP
import Redis
import Shard
import Synchronization

/// Learns that the node is registered in partitions, or is not, at stores to which they are on their way.
protocol PartitionArrivals: AnyObject {
    /// Called when the node is registered in a partition at the store that has it now.
    func arrived(_ index: Int, at store: ClusterStore)

    /// Called after ``arrived(_:at:)``, when the registration is known.
    func goOn(behindMoveOf index: Int, to store: ClusterStore)

    /// Called when a server refuses the registration because it has the slot only partly or not at all.
    func registrationRedirected(by error: RedisError, from store: ClusterStore, in index: Int)
}

/// This node in Redis: its registration in each partition, its number, and its report.
final class NodeRegistration {
    private let partitions: Partitions
    private let reconciliation: Reconciliation
    // It owns this object.
    weak var arrivals: (any PartitionArrivals)?
    /// Whether all partitions have been registered once.
    private(set) var isReady = false

    init(_ partitions: Partitions, _ reconciliation: Reconciliation) {
        (self.partitions, self.reconciliation) = (partitions, reconciliation)
    }

    private var context: ShardContext { partitions.context }
    private var settings: ClusterSettings { partitions.settings }

    // MARK: - Connections

    /// The settings of the next connection to a store.
    func connectionSettings(of store: ClusterStore) -> RedisSettings {
        var connection = settings.connection
        connection.scripts = partitions.scripts.all
        // Any server of a Redis Cluster lists the others, so the first one may be a replica.
        let isSeed = !isReady && partitions.slots == nil && settings.mode.joins(store.address)
        connection.requiresPrimary = !isSeed
        return connection
    }

    /// The reason why the node cannot start with a server; `nil` if it can, or has started.
    func fault(of server: RedisServer) -> String? {
        if partitions.slots == nil, let fault = settings.mode.fault(of: server) { return fault }
        guard server.isPrimary else { return "\(RedisFault.replica)" }
        guard let count = settings.replicaCount, !isReady else { return nil }
        if server.runID == nil {
            return "the server hides its run ID (INFO), which cluster.redis.acknowledge: replica "
                + "needs"
        }
        guard server.replicaCount < count else { return nil }
        return "cluster.redis.replicas is \(count), but the number of connected replicas is "
            + "\(server.replicaCount)"
    }

    /// Registers the node over a connection that was opened.
    func begin(in store: ClusterStore, with server: RedisServer) {
        let isSameRun = server.runID != nil && server.runID == store.lastRun
        if isSameRun, let id = store.lastClientID {
            // The server may not have noticed the end of the former connection. What the node has sent over it must not
            // be executed after what it sends from now on.
            store.send(["CLIENT", "KILL", "ID", "\(id)"], to: nil, as: UnawaitedCall())
        }
        (store.lastRun, store.lastClientID) = (server.runID, server.clientID)
        store.identity = ServerIdentity(
            server,
            connection: "\(settings.node)/\(context.shard)/\(server.clientID)",
            configurationEpoch: store.primary?.configurationEpoch ?? 0
        )
        store.unregistered = Set(store.partitions)
        if store.refusesSubscriptions, let index = store.partitions.first {
            // An unused pub/sub channel, to find out whether the server accepts subscriptions now.
            let topic = partitions[index].calls.keys.report(of: settings.node)
            partitions.subscribe(to: ["\(topic)"], in: index)
        }
        for index in store.partitions {
            register(index, at: store, known: isSameRun ? 0 : partitions[index].newestKnown)
        }
        if claimsNumber(at: store) {
            claimNumber(at: store)
            if store.isolation != .none { sendReport() }
        }
        if store.partitions.isEmpty { wasAccepted(by: store) }
    }

    // MARK: - Partitions

    /// Registers the node in a partition, and returns whether the call was sent.
    ///
    /// `known` is the newest stream of it that the node knows; 0 if the process is the one that it knows. `origin` is
    /// the process that has reported that the partition has moved away from it; `nil` if none has.
    @discardableResult
    func register(
        _ index: Int,
        at store: ClusterStore,
        known: UInt64,
        movedFrom origin: String? = nil
    ) -> Bool {
        guard let identity = store.identity else { return false }
        let partition = partitions[index]
        let call = partition.calls.register(
            with: identity,
            known: known,
            store.acknowledgement,
            in: partition.epoch,
            movedFrom: origin
        )
        return store.send(call, to: index, as: RegisterCall(registration: self, partition: index))
    }

    /// The registration of the node in a partition.
    private struct RegisterCall: StoreCall {
        unowned let registration: NodeRegistration
        let partition: Int

        func received(_ reply: borrowing RESPView, from store: ClusterStore) {
            registration.received(reply, of: partition, from: store)
        }

        /// Receives the reply of the store to which the partition is on its way.
        func received(_ reply: borrowing RESPView, fromOther store: ClusterStore) {
            let partitions = registration.partitions
            guard partitions[partition].store.transit?.probed === store else { return }
            received(reply, from: store)
            guard partitions[partition].store === store else { return }
            registration.arrivals?.goOn(behindMoveOf: partition, to: store)
        }

        func redirected(by error: RedisError, from store: ClusterStore) {
            registration.arrivals?.registrationRedirected(by: error, from: store, in: partition)
        }
    }

    private func received(_ reply: borrowing RESPView, of index: Int, from store: ClusterStore) {
        guard let registration = Registration(reply) else {
            let text = RedisError(reply)?.text ?? "an unknown reply to register"
            store.status.failed(store.reason(text))
            store.connection?.close()
            return
        }
        store.unregistered.remove(index)
        endLossIfPossible(of: store)
        let partition = partitions[index]
        // Whether the former server has said that the partition continues here.
        let isVouchedFor = partition.store.transit?.vouchedRun != nil
        if partition.store !== store { arrivals?.arrived(index, at: store) }
        let (former, run) = (partition.epoch, store.identity?.run)
        // A server that is promoted begins a later epoch than those that it knows. One with an equal or earlier epoch
        // has never known the epoch of the former server. So nothing that was received from that server tells the
        // position of a channel here.
        if let former, !isVouchedFor, registration.epoch.since <= former.since,
            partition.run != run
        {
            for remote in partition.channels { remote.since = 0 }
        }
        partition.run = run
        partition.counter = registration.counter
        partition.lastTime = registration.time
        (partition.epoch, partition.base) = (registration.epoch, registration.base)
        if former == nil { becomeReadyIfPossible() } else { reconciliation.begin(in: index) }
    }

    private func becomeReadyIfPossible() {
        guard !isReady, partitions.allSatisfy({ $0.epoch != nil }),
            context.shard != 0 || settings.status.number.load(ordering: .relaxed) > 0
        else { return }
        isReady = true
        for store in partitions.stores { store.status.failed(nil) }
        settings.status.readyCount.add(1, ordering: .releasing)
    }

    /// Ends the loss of a store's former connection if the node is registered in all partitions and subscriptions are
    /// accepted.
    func endLossIfPossible(of store: ClusterStore) {
        guard store.isOpen, !store.refusesSubscriptions, store.downSince != nil else { return }
        store.unregistered.formIntersection(store.partitions)
        if store.unregistered.isEmpty { wasAccepted(by: store) }
    }

    /// Called when a server does everything that the node needs, so that the loss of the former connection has ended.
    private func wasAccepted(by store: ClusterStore) {
        store.backoff.reset()
        if isReady, store.fullSince == nil { store.status.failed(nil) }
        store.endIsolation()
    }

    // MARK: - The number

    /// How long the number of a node that does not renew it is reserved, in milliseconds.
    private static var numberLifetime: Int { 3_600_000 }

    /// Whether this shard claims the node's number, in this store.
    func claimsNumber(at store: ClusterStore) -> Bool {
        context.shard == 0 && partitions[0].store === store
    }

    /// Claims or renews the number of the node.
    func claimNumber(at store: ClusterStore) {
        let former = settings.status.number.load(ordering: .relaxed)
        // After a loss of Redis's data the numbers of all nodes seem to be free, and a random one probably is.
        let wanted =
            former > 0 ? former : 1 + Int(store.random() % ClusterSettings.nodeNumberMax)
        let call = partitions[0].calls.claimNumber(former: wanted, lifetime: Self.numberLifetime)
        let awaited = AwaitedCall { [self] reply in receiveNumber(reply, from: store) }
        store.send(call, to: 0, as: awaited)
    }

    private func receiveNumber(_ reply: borrowing RESPView, from store: ClusterStore) {
        guard let number = reply.integer, (1...1_023).contains(number) else {
            store.status.failed(RedisError(reply)?.text ?? "there are 1,023 nodes already")
            return
        }
        guard settings.status.number.load(ordering: .relaxed) == 0 else { return }
        settings.status.number.store(Int(number), ordering: .relaxed)
        sendReport()
        becomeReadyIfPossible()
    }

    // MARK: - The report

    /// Renews the node's report.
    ///
    /// A script is used only while the server is out of memory, for the flag `allow-oom`.
    func sendReport() {
        let status = settings.status
        let isIsolated = status.isIsolated
        let report = NodeReport(
            name: settings.displayName,
            state: status.isDraining.load(ordering: .relaxed)
                ? .draining : isIsolated ? .isolated : .serving,
            clientCount: context.settings.admissionControl.clientCount,
            roundTripMicroseconds: partitions.roundTripMicroseconds,
            apps: context.registry.fingerprint,
            version: BrokerVersion.current,
            time: partitions[0].lastTime,
            reason: isIsolated ? status.lastFault ?? "" : ""
        )
        let fields = report.fields.flatMap { [$0, $1] }
        let isFull = partitions[0].store.fullSince != nil
        let command = isFull ? ["EVAL", Self.reportScript, "1", reportKey] : ["HSET", reportKey]
        partitions.send(command + fields, to: 0, as: UnawaitedCall())
        let lifetime = ["PEXPIRE", reportKey, "\(NodeReport.lifetime)"]
        partitions.send(lifetime, to: 0, as: UnawaitedCall())
    }

    private static var reportScript: String {
        "#!lua flags=allow-oom\nreturn redis.call('HSET', KEYS[1], unpack(ARGV))"
    }

    /// Removes the report of a node that stops.
    func removeReport() { partitions.send(["DEL", reportKey], to: 0, as: UnawaitedCall()) }

    private var reportKey: String { "\(partitions[0].calls.keys.report(of: settings.node))" }
}
