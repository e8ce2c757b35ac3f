internal import Synchronization

/// What has become of webhooks since the broker started.
public struct WebhookCounters: Sendable, Equatable {
    /// Requests that were answered with a 2xx.
    public var delivered = 0
    /// Requests that failed: another answer, none in time, or no connection.
    public var failedAttempts = 0
    /// Reports that came faster than they could be looked at, and were lost.
    public var dropped = 0
    /// Webhooks that became dead letters.
    public var dead = 0
    /// Webhooks that wait or are under way now.
    public var queued = 0
    /// Whether what waits is on disk as well, apart from what is being written.
    public var isOnDisk = false
    /// Webhooks that wait in memory alone: a restart loses them.
    public var unsaved: Int { isOnDisk ? 0 : queued }

    /// Counters of which nothing has become yet.
    public init() {}
}

/// The counters, which one actor changes and any thread reads.
final class Tally: Sendable {
    private let counters = Mutex(WebhookCounters())

    var current: WebhookCounters { counters.withLock { $0 } }

    func update(_ change: (inout WebhookCounters) -> Void) {
        counters.withLock { change(&$0) }
    }
}
