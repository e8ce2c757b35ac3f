import Net
import Redis
import Shard

/// Moves partitions between the servers of a Redis Cluster, as their slots move.
final class PartitionMoves {
    let partitions: Partitions
    private let registration: NodeRegistration
    let heartbeats: Heartbeats
    private let sessions: SharedSessions
    // It owns this object.
    unowned let delegate: any ClusterStoreDelegate
    private lazy var continuing = DelayedWork(on: partitions.context.reactor) { [unowned self] in
        continueMoves()
    }

    init(
        _ partitions: Partitions,
        _ heartbeats: Heartbeats,
        _ registration: NodeRegistration,
        _ sessions: SharedSessions,
        _ delegate: any ClusterStoreDelegate
    ) {
        (self.partitions, self.heartbeats) = (partitions, heartbeats)
        (self.registration, self.sessions) = (registration, sessions)
        self.delegate = delegate
        registration.arrivals = self
    }

    private var context: ShardContext { partitions.context }

    /// The known facts about a partition that its store does not have any more, or not at present.
    struct Interruption {
        /// The server that has the partition; `nil` if that is not known.
        var target: RedisURL.Location?
        /// Whether the store's server itself has said that the slot moves.
        var isSaidByOrigin = false
        /// Whether it has said that the slot has moved.
        var hasMoved = false
    }

    /// The times between two attempts to find the store of a partition: for the usual duration of a move, and later.
    private static var moveIntervals: (Duration, Duration) {
        (.milliseconds(50), .milliseconds(500))
    }

    /// Takes a partition from its store.
    func interrupt(_ index: Int, _ interruption: Interruption) {
        let origin = partitions[index].store
        guard origin.transit == nil else {
            learn(interruption, of: index)
            return
        }
        var transit = PartitionTransit(
            origin: origin,
            since: context.reactor.now,
            target: interruption.target,
            hasMoved: interruption.hasMoved
        )
        if interruption.isSaidByOrigin { transit.vouchedRun = knownRun(of: origin, for: index) }
        for remote in partitions[index].channels {
            origin.channels.catchingUpCost -= exchange(&remote.catchingUpCost, with: 0)
        }
        let messages = origin.outbox.removeAll(of: index) { partitions.index(of: $0) == index }
        transit.returned = messages.refused
        let store = makeStore(at: origin.address, transit)
        for message in messages.unsent { store.outbox.append(message) }
        origin.partitions.removeAll { $0 == index }
        store.partitions = [index]
        let downSince = partitions[index].downSince ?? origin.downSince ?? context.reactor.now
        (partitions[index].store, partitions[index].downSince) = (store, downSince)
        partitions.stores.append(store)
        store.downSince = downSince
        store.watchIsolation()
        delegate.cutOff(store)
        continuing.schedule(after: .zero)
    }

    /// Called with further facts about a partition between two stores.
    private func learn(_ interruption: Interruption, of index: Int) {
        let store = partitions[index].store
        guard let origin = store.transit?.origin else { return }
        if let target = interruption.target { store.transit?.target = target }
        guard interruption.isSaidByOrigin else { return }
        if interruption.hasMoved { store.transit?.hasMoved = true }
        if let run = knownRun(of: origin, for: index) { store.transit?.vouchedRun = run }
    }

    /// The process of a store at which the node is registered in a partition; `nil` if that is not known.
    private func knownRun(of origin: ClusterStore, for index: Int) -> String? {
        guard origin.isOpen, partitions[index].epoch != nil else { return nil }
        return origin.lastRun?.description
    }

    /// Called when the connection to a store has ended.
    func connectionEnded(of store: ClusterStore) {
        guard partitions.slots != nil else { return }
        for other in partitions.stores where other.transit != nil {
            if other.transit?.probed === store { other.transit?.probed = nil }
            // What it has published since then is not known to have moved.
            if other.transit?.origin === store, other.transit?.hasMoved == false {
                other.transit?.vouchedRun = nil
            }
        }
        partitions.slots?.refresh()
        continuing.schedule(after: Self.moveIntervals.0)
    }

    /// Registers the node at the new stores of partitions, as soon as they are known and can be called.
    func continueMoves() {
        guard let slots = partitions.slots else { return }
        for store in partitions.stores {
            guard let transit = store.transit, let index = store.partitions.first else { continue }
            let keys = partitions[index].calls.keys
            if transit.target == nil { store.transit?.target = slots.map?.server(of: keys) }
            if store.transit?.target == nil {
                let isUncovered = slots.map != nil && slots.fault == nil
                store.status.failed(
                    isUncovered
                        ? "no server of the Redis Cluster has slot \(keys.slot)" : slots.fault
                )
            }
            continueMove(index)
        }
        for store in partitions.stores where isVacant(store) { store.retire() }
        partitions.stores.removeAll(where: \.isRetired)
        guard partitions.stores.contains(where: { $0.transit != nil || $0.partitions.isEmpty })
        else { return }
        let isRecent = partitions.stores.contains { store in
            store.transit.map { $0.since.duration(to: context.reactor.now) < .seconds(2) } ?? false
        }
        let (first, later) = Self.moveIntervals
        continuing.schedule(after: isRecent ? first : later)
    }

    private func continueMove(_ index: Int) {
        let store = partitions[index].store
        guard let transit = store.transit, transit.probed == nil, let location = transit.target,
            // After it has answered, nothing more is executed there.
            !transit.origin.isUnanswered(in: index)
        else { return }
        let target = self.store(at: location)
        guard target.isOpen else { return }
        let isSent = registration.register(
            index,
            at: target,
            known: partitions[index].newestKnown,
            movedFrom: target.hasFollowedNone(before: transit.since) ? transit.vouchedRun : nil
        )
        if isSent { store.transit?.probed = target }
    }

    /// The store of a server of the Redis Cluster.
    private func store(at location: RedisURL.Location) -> ClusterStore {
        let known = partitions.stores.first {
            $0.transit == nil && $0.address.url.location == location
        }
        if let known { return known }
        var url = partitions.settings.stores[0].url
        url.location = location
        let store = makeStore(at: StoreAddress(url: url, sentinels: nil))
        partitions.stores.append(store)
        store.connect()
        return store
    }

    private func makeStore(
        at address: StoreAddress,
        _ transit: PartitionTransit? = nil
    ) -> ClusterStore {
        ClusterStore(address, in: partitions.environment, delegate: delegate, transit)
    }

    /// Whether nothing is left to do at a store.
    private func isVacant(_ store: ClusterStore) -> Bool {
        guard store.partitions.isEmpty else { return false }
        guard store.transit == nil else { return true }
        let location = store.address.url.location
        return store.calls.isEmpty && store.replicas?.count ?? 0 == 0
            && !partitions.stores.contains { $0.transit?.target == location }
    }
}

// The registration of the node at a partition's next store.
extension PartitionMoves: PartitionArrivals {
    func arrived(_ index: Int, at target: ClusterStore) {
        let store = partitions[index].store
        guard let transit = store.transit, transit.probed === target else { return }
        let hasMoved = transit.origin.address.url.location != target.address.url.location
        if hasMoved, partitions[index].epoch != nil { partitions.counts.movedPartitions += 1 }
        (partitions[index].store, partitions[index].downSince) = (target, nil)
        store.partitions = []
        store.status.failed(nil)
        transit.origin.endings = transit.origin.endings.filter { $0.value.partition != index }
        target.partitions.append(index)
        target.replicas?.connect()
        let waiting = store.outbox.removeAll(of: index) { _ in true }
        for message in transit.returned + waiting.refused + waiting.unsent {
            target.outbox.append(message)
        }
        sessions.lost(transit.calls)
    }

    func goOn(behindMoveOf index: Int, to target: ClusterStore) {
        if index == 0, registration.claimsNumber(at: target) {
            registration.claimNumber(at: target)
        }
        delegate.resume(target, partition: index)
        continuing.schedule(after: .zero)
    }

    func registrationRedirected(by error: RedisError, from store: ClusterStore, in index: Int) {
        let transit = partitions[index].store
        guard transit.transit?.probed === store else { return }
        transit.transit?.probed = nil
        let hasMoved = Redirection(error, from: store.address.url)?.kind == .moved
        if !hasMoved { transit.transit?.target = nil }
    }
}
