import Broker
import RESP
import Redis
import Synchronization

/// What all partitions of a Redis Cluster keep of the apps' data, as last read; shared by the shards of a node.
final class KeptTotals: Sendable {
    private let totals = Mutex<[AppID?: KeptUse]>([:])

    /// What all partitions keep of an app; `nil` before it was read.
    subscript(app: AppID?) -> KeptUse? { totals.withLock { $0[app] } }

    /// Replaces what a partition keeps.
    ///
    /// - Parameters:
    ///   - former: What was read of it before.
    ///   - present: What is read now; `nil` stands for all apps.
    /// - Returns: What all partitions keep.
    func replace(_ former: [AppID?: KeptUse], by present: [AppID?: KeptUse]) -> [AppID?: KeptUse] {
        totals.withLock { totals in
            for (app, use) in present {
                totals[app, default: KeptUse()].add(use, inPlaceOf: former[app] ?? KeptUse())
            }
            return totals
        }
    }
}

// The limits of kept data in Redis. Stores that share no memory have equal shares, which all of a store's partitions use
// together. In a Redis Cluster a script reaches one slot alone, so each partition has its own share, which follows what is kept:
// each node reads that with its heartbeats. A limit can be exceeded by what is published in two seconds.
extension ClusterHome {
    /// The part of what is free that a partition may take until it is read again, and of what it uses that it may lose.
    private static var part: Int { 4 }

    /// Reads what a partition keeps; called with each of its heartbeats.
    func readUses(of index: Int) {
        guard slots != nil else { return }
        let ids = context.registry.ids.sorted { $0.text < $1.text }
        // The next ones, of more apps than one call reads.
        let countMax = ClusterScripts.messageCountMax
        let start = ids.count > countMax ? partitions[index].usesPlace % ids.count : 0
        let apps = Array((ids[start...] + ids[..<start]).prefix(countMax))
        partitions[index].usesPlace = start + apps.count
        let call = partitions[index].calls.uses(of: apps.map(\.text))
        send(call, to: index, as: .uses(partition: index, apps))
    }

    func receiveUses(_ reply: borrowing RESPView, of index: Int, _ apps: [AppID]) {
        guard let uses = KeptUses(reply), uses.apps.count == apps.count else { return }
        var present: [AppID?: KeptUse] = [nil: uses.all]
        for (app, use) in zip(apps, uses.apps) { present[app] = use }
        // What was removed from the configuration has no share.
        let registry = context.registry
        for app in partitions[index].uses.keys where app.map({ registry.apps[$0] == nil }) ?? false
        {
            present[app] = KeptUse()
        }
        keptTotals = settings.keptTotals.replace(partitions[index].uses, by: present)
        partitions[index].uses.merge(present) { $1 }
    }

    /// The part of a limit that the pool of a partition has, at least 1.
    ///
    /// - Parameters:
    ///   - limit: The limit.
    ///   - use: What it counts.
    ///   - app: The app; `nil` for a limit of all.
    ///   - partition: The partition.
    /// - Returns: The part.
    func share(
        of limit: Int,
        _ use: KeyPath<KeptUse, Int>,
        of app: AppID?,
        in partition: Int
    ) -> Int {
        guard slots != nil else { return max(1, limit / settings.stores.count) }
        // Unknown for two seconds after the start: what is kept must not go for that.
        guard let used = partitions[partition].uses[app]?[keyPath: use] else {
            return max(1, limit)
        }
        return Self.share(
            of: limit,
            used: used,
            total: keptTotals[app]?[keyPath: use] ?? used,
            partitionCount: settings.partitionCount
        )
    }

    /// The part of a limit that a partition has in a Redis Cluster.
    ///
    /// It has what it uses and a fourth of what is free. Beyond the limit, all are reduced in proportion, by a fourth at most, since
    /// others have been reduced meanwhile of which that is not read yet. An equal share is always left.
    ///
    /// - Parameters:
    ///   - limit: The limit.
    ///   - used: What the partition uses.
    ///   - total: What all partitions use.
    ///   - partitionCount: Their number.
    /// - Returns: The part.
    static func share(of limit: Int, used: Int, total: Int, partitionCount: Int) -> Int {
        let equal = max(1, limit / partitionCount)
        guard total >= limit else { return max(equal, used + (limit - total) / part) }
        let proportion = Int(Double(limit) * Double(used) / Double(max(total, used, 1)))
        return max(equal, proportion, used - used / part)
    }
}
