import Net
import RESP
import Redis

/// A partition between two stores: its slot of a Redis Cluster moves, or has no server at present.
///
/// Meanwhile the partition is in its own store, which has no connection. So its messages wait and are refused, and its
/// clients are closed, by the same rules as for a lost store.
struct PartitionTransit {
    /// The store that had it; its calls there may be unanswered.
    let origin: ClusterStore
    /// The start of the transit.
    let since: MonotonicTime
    /// The server that has it; `nil` until that is known.
    var target: RedisURL.Location?
    /// The process that had it, if that process itself has said that the slot moves; see `register.lua`.
    var vouchedRun: String?
    /// Whether that process has said that the slot has moved; until then the connection must stay open.
    var hasMoved = false
    /// The store in which the node is being registered.
    var probed: ClusterStore?
    /// The messages that the former store has not published, in their order; all others follow them.
    var returned: [OutgoingMessage] = []
    /// The calls of sessions that the former store has not executed, or whose replies are not used, in their order.
    var sessionCalls: [SessionCall] = []
}

/// Moves partitions between the servers of a Redis Cluster, as their slots move.
final class PartitionMoves {
    let partitions: Partitions
    // The home owns this object.
    unowned let home: ClusterHome
    private lazy var continuing = DelayedWork(on: partitions.context.reactor) { [unowned self] in
        continueMoves()
    }

    init(_ home: ClusterHome) { (self.home, partitions) = (home, home.partitions) }

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
            origin.catchingUpCost -= exchange(&remote.catchingUpCost, with: 0)
        }
        let messages = origin.outbox.removeAll(of: index) { partitions.index(of: $0) == index }
        transit.returned = messages.refused
        let store = ClusterStore(origin.address, of: home, transit)
        for message in messages.unsent { store.outbox.append(message) }
        origin.partitions.removeAll { $0 == index }
        store.partitions = [index]
        let downSince = partitions[index].downSince ?? origin.downSince ?? context.reactor.now
        (partitions[index].store, partitions[index].downSince) = (store, downSince)
        partitions.stores.append(store)
        store.downSince = downSince
        store.watchIsolation()
        home.cutOff(store)
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
        for store in partitions.stores where store.isVacant { store.retire() }
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
        let isSent = target.register(
            index,
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
        let store = ClusterStore(StoreAddress(url: url, sentinels: nil), of: home)
        partitions.stores.append(store)
        store.connect()
        return store
    }

    /// Called when the node is registered in a partition at the store that has it now.
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
        home.sessions.lost(transit.sessionCalls)
    }

    /// Called after ``arrived(_:at:)``, when the registration is known.
    func goOn(behindMoveOf index: Int, to target: ClusterStore) {
        if index == 0, home.registration.claimsNumber(at: target) { target.claimNumber() }
        home.goOn(in: target, partition: index)
        continuing.schedule(after: .zero)
    }
}

extension ClusterStore {
    /// Whether the server was certainly not a replica of one that had a slot until then, whose last writes it may lack.
    ///
    /// A promoted server knows an earlier replication history; one that had slots at the time was a primary itself.
    fileprivate func hasFollowedNone(before time: MonotonicTime) -> Bool {
        guard let identity, !identity.replication.isEmpty else { return false }
        let hadSlots = !partitions.isEmpty && openSince.map { $0 < time } ?? false
        return identity.formerReplication.isEmpty || hadSlots
    }

    /// Whether nothing is left to do here.
    fileprivate var isVacant: Bool {
        guard partitions.isEmpty else { return false }
        guard transit == nil else { return true }
        return calls.isEmpty && replicas?.count ?? 0 == 0
            && !home.partitions.stores.contains { $0.transit?.target == address.url.location }
    }
}
