import Net
import RESP
import Redis
import Shard

/// The heartbeats of the node in its partitions, and what is done with each of them.
final class Heartbeats {
    private let partitions: Partitions
    private let registration: NodeRegistration
    private let leader: PartitionLeader
    private let reaper: NodeReaper
    private let channels: SharedChannels

    init(
        _ partitions: Partitions,
        _ registration: NodeRegistration,
        _ leader: PartitionLeader,
        _ reaper: NodeReaper,
        _ channels: SharedChannels
    ) {
        (self.partitions, self.registration) = (partitions, registration)
        (self.leader, self.reaper, self.channels) = (leader, reaper, channels)
    }

    private var settings: ClusterSettings { partitions.settings }

    /// Called when a store's connection is open.
    func begin(in store: ClusterStore) {
        // Also takes the leaderships that are vacant.
        sendAll(in: store)
        store.heartbeatPortion = 0
        store.startTimer(.heartbeat, after: .zero)
    }

    /// Renews the node in the next portion of a store's partitions, so that no other call waits for all renewals.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - renewed: Called with each partition of the portion.
    ///   - finish: Called after them, with whether a round of all partitions begins.
    func sendNext(
        in store: ClusterStore,
        _ renewed: (Int) -> Void,
        finish: (_ beginsRound: Bool) -> Void
    ) {
        guard store.isOpen, !partitions.isLeaving else { return }
        let (interval, count) = (ClusterSettings.heartbeatInterval, ClusterSettings.portionCount)
        let now = partitions.context.reactor.now
        // After a pause of the process, others may have declared it dead in any partition.
        if let last = store.lastHeartbeat, last.duration(to: now) >= interval { sendAll(in: store) }
        store.lastHeartbeat = now
        let portion = store.heartbeatPortion
        for place in stride(from: portion, to: store.partitions.count, by: count) {
            send(in: store.partitions[place], to: store)
            renewed(store.partitions[place])
        }
        finish(portion == 0)
        if portion == 0 || store.fullSince != nil { store.askForMemory() }
        store.heartbeatPortion = (portion + 1) % count
        store.startTimer(.heartbeat, after: interval / count)
    }

    /// Renews the node in all partitions of a store.
    func sendAll(in store: ClusterStore) {
        for index in store.partitions { send(in: index, to: store) }
    }

    /// The number of unanswered heartbeats.
    func unansweredCount(in store: ClusterStore) -> Int {
        store.calls.values.count { $0.call is HeartbeatCall }
    }

    /// Renews the node in a partition.
    func send(in index: Int, to store: ClusterStore) {
        let call = partitions[index].calls
            .heartbeat(lease: settings.lease, store.acknowledgement, mayLead: leader.mayLead)
        store.send(call, to: index, as: HeartbeatCall(heartbeats: self, partition: index))
    }

    /// A heartbeat in a partition.
    private struct HeartbeatCall: StoreCall {
        unowned let heartbeats: Heartbeats
        let partition: Int

        func received(_ reply: borrowing RESPView, from store: ClusterStore) {
            heartbeats.received(reply, in: partition, from: store)
        }

        func partitionMoved(from store: ClusterStore) { store.replicas?.announced() }
    }

    private func received(_ reply: borrowing RESPView, in index: Int, from store: ClusterStore) {
        store.replicas?.announced()
        guard !partitions.isLeaving else { return }
        // Without memory Redis still answers; for any other answer, another connection is opened.
        guard let heartbeat = Heartbeat(reply) else {
            if let error = RedisError(reply) { store.status.failed(store.reason(error.text)) }
            store.connection?.close()
            return
        }
        guard heartbeat.epoch == partitions[index].epoch else {
            // The server has followed another one in between, so published messages may be lost.
            store.connection?.close()
            return
        }
        // An unregistered partition may have moved.
        registration.endLossIfPossible(of: store)
        partitions[index].counter = heartbeat.counter
        partitions[index].lastTime = heartbeat.time
        reaper.reap(heartbeat.dead, in: index)
        leader.setLeads(heartbeat.leads, in: index)
        if !heartbeat.isRegistered { channels.takenForDead(in: index) }
    }
}
