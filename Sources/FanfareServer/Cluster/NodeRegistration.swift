import Broker
import BrokerConfiguration
import Net
import RESP
import Redis
import Synchronization

/// What the shard knows of this node in Redis: its registration in each partition, its number, and its report.
final class NodeRegistration {
    private let partitions: Partitions
    // The home owns this object.
    private unowned let home: ClusterHome
    /// Whether all partitions have been registered once.
    private(set) var isReady = false

    init(_ home: ClusterHome) { (self.home, partitions) = (home, home.partitions) }

    private var context: ShardContext { partitions.context }
    private var settings: ClusterSettings { partitions.settings }

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
        let partition = partitions[index]
        let former = partition.epoch
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
        if former == nil { becomeReadyIfPossible() } else { home.reconciliation.begin(in: index) }
    }

    /// Called when a heartbeat in a partition is answered.
    func received(_ heartbeat: Heartbeat, of index: Int) {
        partitions[index].counter = heartbeat.counter
        partitions[index].lastTime = heartbeat.time
        home.reaper.reap(heartbeat.dead, in: index)
        home.leader.setLeads(heartbeat.leads, in: index)
        guard !heartbeat.isRegistered, !context.faults.contains(.ignoresFence) else { return }
        home.channels.takenForDead(in: index)
    }

    private func becomeReadyIfPossible() {
        guard !isReady, partitions.allSatisfy({ $0.epoch != nil }),
            context.shard != 0 || settings.status.number.load(ordering: .relaxed) > 0
        else { return }
        isReady = true
        for store in partitions.stores { store.status.failed(nil) }
        settings.status.readyCount.add(1, ordering: .releasing)
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
            roundTripMicroseconds: home.reading.roundTripMicroseconds,
            apps: context.registry.fingerprint,
            version: BrokerVersion.current,
            time: partitions[0].lastTime,
            reason: isIsolated ? status.lastFault ?? "" : ""
        )
        let fields = report.fields.flatMap { [$0, $1] }
        let isFull = partitions[0].store.fullSince != nil
        let command = isFull ? ["EVAL", Self.reportScript, "1", reportKey] : ["HSET", reportKey]
        partitions.send(command + fields, to: 0, as: UnawaitedCall())
        partitions.send(
            ["PEXPIRE", reportKey, "\(NodeReport.lifetime)"],
            to: 0,
            as: UnawaitedCall()
        )
    }

    private static var reportScript: String {
        "#!lua flags=allow-oom\nreturn redis.call('HSET', KEYS[1], unpack(ARGV))"
    }

    /// Removes the report of a node that stops.
    func removeReport() { partitions.send(["DEL", reportKey], to: 0, as: UnawaitedCall()) }

    private var reportKey: String { "\(partitions[0].calls.keys.report(of: settings.node))" }
}
