import Broker
import RESP
import Redis

// The limits of kept data in Redis. Stores that share no memory have equal shares, which all of a store's partitions
// use together. In a Redis Cluster a script reaches only one slot, so each partition has its own share, which depends
// on what is kept. Each node reads that with its heartbeats. A limit can be exceeded by what is published in two
// seconds.
extension ClusterHome {
    /// The divisor of the free part that a partition may take until the next reading, and of the use that it may lose.
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

    /// A partition's share of a limit of this use, at least 1; `app` is `nil` for a limit of all apps.
    func share(
        of limit: Int,
        _ use: KeyPath<KeptUse, Int>,
        of app: AppID?,
        in partition: Int
    ) -> Int {
        guard slots != nil else { return max(1, limit / settings.stores.count) }
        // Unknown for two seconds after the start, in which kept data must not be dropped because of that.
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

    /// A partition's share of a limit in a Redis Cluster.
    ///
    /// The share is the partition's use and a fourth of the free part. Above the limit, all are reduced in proportion,
    /// but by a fourth at most, because reductions of others have not been read yet. An equal share is always left.
    ///
    /// `used` is the use of the partition, and `total` that of all partitions.
    static func share(of limit: Int, used: Int, total: Int, partitionCount: Int) -> Int {
        let equal = max(1, limit / partitionCount)
        guard total >= limit else { return max(equal, used + (limit - total) / part) }
        let proportion = Int(Double(limit) * Double(used) / Double(max(total, used, 1)))
        return max(equal, proportion, used - used / part)
    }
}
