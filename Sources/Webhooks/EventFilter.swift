internal import Broker
internal import Synchronization

/// The kinds of events that lead to webhooks, by app.
final class EventFilter: Sendable {
    private let kinds = Mutex<[AppID: BrokerEventKinds]>([:])

    /// The kinds of events that lead to webhooks of an app.
    func observedKinds(of app: AppID) -> BrokerEventKinds {
        kinds.withLock { $0[app] ?? [] }
    }

    /// Replaces the apps.
    func replace(apps: [WebhookApp]) {
        var table: [AppID: BrokerEventKinds] = [:]
        for app in apps {
            for kind in app.endpoints.flatMap(\.events) {
                table[app.id, default: []].formUnion(kind.observedKinds)
            }
        }
        kinds.withLock { $0 = table }
    }
}

/// Removes repeated cache misses, because many clients may find the same channel empty at once.
///
/// A miss is repeated until the cache is filled, for at most ``period``.
struct CacheMissFilter: Sendable {
    /// The time for which further misses are repetitions, in milliseconds.
    static let period: Int64 = 60_000

    /// The maximum number of remembered channels; above it the oldest are removed.
    let countMax: Int

    private var reported: [ChannelAddress: Int64] = [:]
    /// In the order of time; an entry is valid if ``reported`` has the same time.
    private var order: [(address: ChannelAddress, time: Int64)] = []
    private var first = 0

    /// Creates a filter without remembered channels.
    init(countMax: Int) { self.countMax = countMax }

    /// Processes a report whose time is not before that of earlier reports, and returns whether it leads to a webhook.
    mutating func process(_ report: Report) -> Bool {
        switch report.event {
        case .cacheFilled:
            reported.removeValue(forKey: report.address)
            return false
        case .cacheMiss:
            forget(before: report.uptime - Self.period)
            guard reported[report.address] == nil else { return false }
            reported[report.address] = report.uptime
            order.append((report.address, report.uptime))
            return true
        default: return true
        }
    }

    private mutating func forget(before limit: Int64) {
        while first < order.count,
            order[first].time <= limit || order.count - first >= countMax
        {
            let (address, time) = order[first]
            if reported[address] == time { reported.removeValue(forKey: address) }
            first += 1
        }
        if first > order.count / 2 {
            order.removeFirst(first)
            first = 0
        }
    }
}
