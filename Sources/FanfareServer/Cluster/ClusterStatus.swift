import Logging
import Synchronization

/// What the shards of a node know of their connections to Redis, each of which has its own; what operators have to know is
/// logged once for all of them.
///
/// Read for each new client and by `GET /health`.
final class ClusterStatus: Sendable {
    /// The number of shards whose partitions are registered for the first time.
    let readyCount = Atomic(0)
    /// The node's number; 0 before it is claimed.
    let number = Atomic(0)
    /// Whether the node stops.
    let isDraining = Atomic(false)
    /// The number of shards that have lost Redis.
    private let lostCount = Atomic(0)
    /// The number of shards that have been without Redis for some seconds.
    private let isolatedCount = Atomic(0)
    /// The number of shards that have been without Redis for so long that clients are closed.
    private let closedCount = Atomic(0)
    /// Why the node cannot be used at all; `nil` if it can.
    private let refusal = Mutex<String?>(nil)
    /// The address of the server, without its password.
    private let server: String
    private let log: Logger

    /// Creates the status of a node that has not connected yet.
    ///
    /// - Parameters:
    ///   - server: The address of the server, without its password.
    ///   - log: Where losses are logged.
    init(_ server: String, _ log: Logger) {
        self.server = server
        self.log = log
    }

    /// Whether load balancers should send clients elsewhere.
    var isIsolated: Bool { isolatedCount.load(ordering: .relaxed) > 0 }
    /// Whether new clients are refused.
    var isClosed: Bool { closedCount.load(ordering: .relaxed) > 0 }

    /// Why the last attempt to connect has failed; `nil` if none has.
    var lastFault: String? { refusal.withLock { $0 } }

    func failed(_ reason: String?) { refusal.withLock { $0 = reason } }

    // MARK: - Losses

    /// Called when a shard has lost its connection.
    func lost() {
        guard lostCount.add(1, ordering: .relaxed).oldValue == 0 else { return }
        log.warning("Redis is lost: events wait, then they are refused with 503", metadata: fault)
    }

    /// Called when a shard that has lost its connection has one again.
    func found() {
        guard lostCount.subtract(1, ordering: .relaxed).newValue == 0 else { return }
        log.notice("Redis is back", metadata: ["server": "\(server)"])
    }

    /// Called when a shard has been without Redis for longer, or is with it again.
    func change(from former: Isolation, to present: Isolation) {
        count(isolatedCount, former >= .isolated, present >= .isolated) {
            "without Redis for some seconds: GET /health answers 503"
        }
        count(closedCount, former == .closed, present == .closed) {
            "without Redis for too long: clients are asked to reconnect, to another node"
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
        log.error(message(), metadata: fault)
    }

    private var fault: Logger.Metadata {
        ["server": "\(server)", "reason": "\(lastFault ?? "unknown")"]
    }
}
