import Broker
import Logging
import Redis
package import Synchronization

/// The shards' shared knowledge about a node's connections to Redis, of which each shard has its own.
///
/// Read for each new client and by `GET /health`.
package final class ClusterStatus: Sendable {
    /// The number of shards whose partitions have been registered for the first time.
    package let readyCount = Atomic(0)
    /// The node's number; 0 before it is claimed.
    package let number = Atomic(0)
    /// Whether the node is stopping.
    package let isDraining = Atomic(false)
    private let stores = Mutex<[StoreStatus]>([])
    private let log: Logger

    /// Creates the status of a node that has not connected yet.
    init(_ log: Logger) { self.log = log }

    /// Returns the status of a store by its address without a password; one object for all shards.
    func store(_ address: String) -> StoreStatus {
        stores.withLock { stores in
            let known = stores.first { $0.address == address }
            let store = known ?? StoreStatus(address, log)
            store.shardCount.add(1, ordering: .relaxed)
            if known == nil { stores.append(store) }
            return store
        }
    }

    /// Called when a shard no longer has partitions in a store.
    func leave(_ store: StoreStatus) {
        stores.withLock { stores in
            guard store.shardCount.subtract(1, ordering: .relaxed).newValue == 0 else { return }
            stores.removeAll { $0 === store }
        }
    }

    /// Whether load balancers should send clients elsewhere.
    var isIsolated: Bool { stores.withLock { $0.contains { $0.isIsolated } } }
    /// Whether new clients are refused, because none of their messages could arrive.
    var isClosed: Bool { stores.withLock { !$0.isEmpty && $0.allSatisfy { $0.isClosed } } }

    /// Why the last attempt to connect to one of the stores has failed; `nil` if none has.
    package var lastFault: String? { stores.withLock { $0.lazy.compactMap(\.lastFault).first } }
}

/// What all partitions of a Redis Cluster keep of the apps' data, as last read; shared by the shards of a node.
final class KeptTotals: Sendable {
    private let totals = Mutex<[AppID?: KeptUse]>([:])

    /// What all partitions keep of an app; `nil` before it was read.
    subscript(app: AppID?) -> KeptUse? { totals.withLock { $0[app] } }

    /// Replaces the former reading of a partition by the present one, and returns what all partitions keep.
    ///
    /// The key `nil` stands for all apps.
    func replace(_ former: [AppID?: KeptUse], by present: [AppID?: KeptUse]) -> [AppID?: KeptUse] {
        totals.withLock { totals in
            for (app, use) in present {
                totals[app, default: KeptUse()].add(use, inPlaceOf: former[app] ?? KeptUse())
            }
            return totals
        }
    }
}
