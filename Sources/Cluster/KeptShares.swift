import Broker
import RESP
import Redis
import Shard

/// The shares that this shard's partitions have in the limits of kept data.
///
/// Stores that share no memory have equal shares, which all of a store's partitions use together. In a Redis Cluster a
/// script reaches only one slot, so each partition has its own share, which depends on what is kept. Each node reads
/// that with its heartbeats. A limit can be exceeded by what is published in two seconds.
final class KeptShares {
    private let partitions: Partitions
    /// What each partition keeps in a Redis Cluster, as last read; for the app `nil`, what it keeps of all apps.
    private lazy var uses = [[AppID?: KeptUse]](repeating: [:], count: partitions.count)
    /// The next app whose use is read in each partition.
    private var places: [Int: Int] = [:]
    /// What all partitions of a Redis Cluster keep, as last read.
    private var totals: [AppID?: KeptUse] = [:]

    init(_ partitions: Partitions) { self.partitions = partitions }

    /// The divisor of the free part that a partition may take until the next reading, and of the use that it may lose.
    private static var part: Int { 4 }

    /// Reads what a partition keeps; called with each of its heartbeats.
    func read(of index: Int) {
        guard partitions.slots != nil else { return }
        let ids = partitions.context.registry.ids.sorted { $0.text < $1.text }
        // The next ones, of more apps than one call reads.
        let countMax = ClusterScripts.messageCountMax
        let start = ids.count > countMax ? places[index, default: 0] % ids.count : 0
        let apps = Array((ids[start...] + ids[..<start]).prefix(countMax))
        places[index] = start + apps.count
        let call = partitions[index].calls.uses(of: apps.map(\.text))
        partitions.send(call, to: index) { [self] reply in receive(reply, of: index, apps) }
    }

    private func receive(_ reply: borrowing RESPView, of index: Int, _ apps: [AppID]) {
        guard let read = KeptUses(reply), read.apps.count == apps.count else { return }
        var present: [AppID?: KeptUse] = [nil: read.all]
        for (app, use) in zip(apps, read.apps) { present[app] = use }
        // What was removed from the configuration has no share.
        let registry = partitions.context.registry
        let former = uses[index]
        for app in former.keys where app.map({ registry.apps[$0] == nil }) ?? false {
            present[app] = KeptUse()
        }
        totals = partitions.settings.keptTotals.replace(former, by: present)
        uses[index].merge(present) { $1 }
    }

    /// A partition's share of a limit of this use, at least 1; `app` is `nil` for a limit of all apps.
    func share(
        of limit: Int,
        _ use: KeyPath<KeptUse, Int>,
        of app: AppID?,
        in partition: Int
    ) -> Int {
        guard partitions.slots != nil else {
            return max(1, limit / partitions.settings.stores.count)
        }
        // Unknown for two seconds after the start, in which kept data must not be dropped because of that.
        guard let used = uses[partition][app]?[keyPath: use] else { return max(1, limit) }
        return Self.share(
            of: limit,
            used: used,
            total: totals[app]?[keyPath: use] ?? used,
            partitionCount: partitions.settings.partitionCount
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
