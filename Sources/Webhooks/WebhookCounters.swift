internal import Synchronization

/// Statistics of webhooks since the broker's start.
public struct WebhookCounters: Sendable, Equatable {
    /// Requests answered with a 2xx.
    public var delivered = 0
    /// Failed requests: another status, no response in time, or no connection.
    public var failedAttempts = 0
    /// Reports dropped because they arrived faster than they were processed.
    public var dropped = 0
    /// Webhooks that became dead letters.
    public var dead = 0
    /// Webhooks and dead letters whose rows in the file were damaged, and are deleted.
    public var damaged = 0
    /// Webhooks queued now, including those in flight.
    public var queued = 0
    /// Those of them that no other queue keeps; see ``QueuedEvent``.
    public var ownQueued = 0
    /// Whether queued webhooks are also on disk, apart from the current write.
    public var isOnDisk = false
    /// Webhooks that are only in memory, which a restart loses.
    public var unsaved: Int { isOnDisk ? 0 : ownQueued }

    /// Creates counters of zero.
    public init() {}
}

/// The counters, changed by one actor and read by any thread.
final class Tally: Sendable {
    private let counters = Mutex(WebhookCounters())

    var current: WebhookCounters { counters.withLock { $0 } }

    func update(_ change: (inout WebhookCounters) -> Void) {
        counters.withLock { change(&$0) }
    }
}
