import Logging
import Synchronization

/// The shards' shared knowledge about one store; messages for operators are logged once for all of them.
final class StoreStatus: Sendable {
    /// The address, without a password.
    let address: String
    /// The number of uses by shards; only ``ClusterStatus`` changes it.
    let shardCount = Atomic(0)
    /// The number of shards that have lost it.
    private let lostCount = Atomic(0)
    /// The number of shards that have been without it for some seconds.
    private let isolatedCount = Atomic(0)
    /// The number of shards that have been without it for so long that clients are closed.
    private let closedCount = Atomic(0)
    /// The reason why it cannot be used at all; `nil` if it can.
    private let fault = Mutex<String?>(nil)
    /// Whether a damaged message or reply was logged.
    private let hasLoggedDamage = Atomic(false)
    private let log: Logger

    init(_ address: String, _ log: Logger) {
        self.address = address
        self.log = log
    }

    var isIsolated: Bool { isolatedCount.load(ordering: .relaxed) > 0 }
    var isClosed: Bool { closedCount.load(ordering: .relaxed) > 0 }
    /// The reason why the last attempt to connect has failed; `nil` if none has.
    var lastFault: String? { fault.withLock { $0 } }

    func failed(_ reason: String?) { fault.withLock { $0 = reason } }

    /// Called when a shard has lost its connection.
    func lost() {
        guard lostCount.add(1, ordering: .relaxed).oldValue == 0 else { return }
        log.warning(
            "Redis is lost: events wait, then are refused with 503",
            metadata: metadata
        )
    }

    /// Called when a shard that has lost its connection has one again.
    func found() {
        guard lostCount.subtract(1, ordering: .relaxed).newValue == 0 else { return }
        log.notice("Redis is back", metadata: ["server": "\(address)"])
    }

    /// Called when a shard that was refused for lack of memory for some seconds is accepted again.
    func hasMemory() {
        log.notice("Redis has memory again", metadata: ["server": "\(address)"])
    }

    /// Called when a message or reply is refused as damaged; the first one is logged.
    func refused(_ what: String) {
        guard !hasLoggedDamage.exchange(true, ordering: .relaxed) else { return }
        log.error(
            "Redis sent damaged data, which is refused; see fanfare_cluster_refused_replies_total",
            metadata: ["server": "\(address)", "data": "\(what)"]
        )
    }

    /// Called when the isolation of a shard from Redis changes.
    func change(from former: Isolation, to present: Isolation) {
        count(isolatedCount, former >= .isolated, present >= .isolated) {
            "Redis has not served this node for some seconds: GET /health answers 503"
        }
        count(closedCount, former == .closed, present == .closed) {
            "Redis has not served for too long: clients are asked to reconnect to another node"
        }
    }

    private func count(
        _ counter: borrowing Atomic<Int>,
        _ before: Bool,
        _ after: Bool,
        _ message: () -> Logger.Message
    ) {
        if before, !after { counter.subtract(1, ordering: .relaxed) }
        guard !before, after, counter.add(1, ordering: .relaxed).oldValue == 0 else { return }
        log.error(message(), metadata: metadata)
    }

    private var metadata: Logger.Metadata {
        ["server": "\(address)", "reason": "\(lastFault ?? "unknown")"]
    }
}

/// The consequences of a lost connection to a store.
enum Isolation: Comparable {
    /// There is a connection, or it was lost a moment ago.
    case none
    /// Load balancers should send clients elsewhere.
    case isolated
    /// Clients are closed, and reconnect elsewhere.
    case closed
}
