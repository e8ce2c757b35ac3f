import Broker
import Observability
import Synchronization

/// Collects what happens for the console, while anybody looks.
///
/// Nobody's looking costs nothing: no kind of event is asked for then, so none is created. While somebody looks, each batch
/// holds the first ``recordsMax`` events, and the number of those that it left out.
package final class ConsoleFeed: Sendable {
    /// The maximum number of events in a batch.
    static let recordsMax = 50

    private let app: AppID
    private let records: EventRecords
    private let isWatchedFlag = Atomic(false)
    private let subscriberHandler = Mutex<@Sendable () -> Void>({})

    /// Creates a feed for the pages that are clients of `app`.
    init(of app: AppID, showsData: Bool) {
        self.app = app
        records = EventRecords(countMax: Self.recordsMax, showsData: showsData)
    }

    /// Whether the data of events is shown.
    var showsData: Bool { records.showsData }

    /// Whether events are collected; the observers of the shards have to be read again after a change.
    var isWatched: Bool {
        get { isWatchedFlag.load(ordering: .acquiring) }
        set { isWatchedFlag.store(newValue, ordering: .releasing) }
    }

    /// Called on a shard's thread when a page has subscribed.
    var hasSubscriber: @Sendable () -> Void {
        get { subscriberHandler.withLock { $0 } }
        set { subscriberHandler.withLock { $0 = newValue } }
    }

    /// Returns what has happened since the last call; see ``EventRecords/takeBatch()``.
    func takeBatch() -> [UInt8]? { records.takeBatch() }
}

extension ConsoleFeed: BrokerObserver {
    func observedKinds(of app: AppID?) -> BrokerEventKinds {
        // By the first subscription, the feed learns that somebody looks.
        if app == self.app { return .subscriptions }
        guard isWatched else { return [] }
        guard app != nil else { return .refusals }
        return EventRecords.kinds
    }

    func observe(_ event: BrokerEvent, of app: AppID?) {
        guard app != self.app else {
            if case .channel(.subscribed, _) = event { hasSubscriber() }
            return
        }
        guard isWatched else { return }
        records.add(event, of: app)
    }
}
