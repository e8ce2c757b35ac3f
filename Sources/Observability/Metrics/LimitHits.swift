package import Broker
package import Logging
package import Metrics
import Net
package import PusherProtocol
import Synchronization

/// Counts how often each limit was reached, as `fanfare_limit_hits_total`, and logs it.
///
/// A hit takes two atomic additions and a read of the clock. Each limit is logged at most once a minute, however often
/// it is reached.
package final class LimitHits: Sendable {
    private final class Meter: Sendable {
        let counter: Counter
        /// The number of hits since the last log message.
        let unloggedCount = Atomic(0)
        /// The number of hits since the start.
        let totalCount = Atomic(0)
        /// The time of the next possible log message, in nanoseconds.
        let nextLogTime = Atomic<Int64>(.min)
        /// The number of hits of each app since the start.
        let appCounts = Mutex<[AppID: Int]>([:])

        init(_ counter: Counter) { self.counter = counter }
    }

    private let meters: [Limit: Meter]
    private let log: Logger

    /// The minimum time between two log messages about one limit, in nanoseconds.
    private static let logInterval: Int64 = 60_000_000_000

    /// Creates the counters of all limits, at zero.
    package init(_ factory: any MetricsFactory, log: Logger) {
        self.log = log
        meters = Dictionary(
            uniqueKeysWithValues: Limit.allCases.map {
                let counter = Counter(
                    label: BrokerMetric.limitHits.name,
                    dimensions: [("limit", $0.rawValue)],
                    factory: factory
                )
                return ($0, Meter(counter))
            }
        )
    }

    /// The limits that were reached since the start, and how often.
    package var counts: [(limit: Limit, count: Int)] {
        Limit.allCases.compactMap { limit in
            let count = meters[limit]?.totalCount.load(ordering: .relaxed) ?? 0
            return count > 0 ? (limit, count) : nil
        }
    }

    /// The hits of a limit by each app since the start; of a limit that is not of an app none.
    package func counts(of limit: Limit) -> [AppID: Int] {
        meters[limit]?.appCounts.withLock(\.self) ?? [:]
    }

    /// Counts hits of a limit.
    ///
    /// - Parameters:
    ///   - limit: The limit.
    ///   - app: The app, if the limit is one of an app, and that is known.
    ///   - count: The number of hits.
    ///   - consequence: The effect, if it differs from the limit's rule; for the log.
    package func record(
        _ limit: Limit,
        of app: AppID? = nil,
        count: Int = 1,
        consequence: String? = nil
    ) {
        guard let meter = meters[limit] else { return }
        meter.counter.increment(by: count)
        meter.unloggedCount.add(count, ordering: .relaxed)
        meter.totalCount.add(count, ordering: .relaxed)
        let app = limit.rule.isOfApp ? app : nil
        if let app { meter.appCounts.withLock { $0[app, default: 0] += count } }
        let now = MonotonicTime.current.nanoseconds
        let nextLogTime = meter.nextLogTime.load(ordering: .relaxed)
        guard now >= nextLogTime,
            meter.nextLogTime.compareExchange(
                expected: nextLogTime,
                desired: now + Self.logInterval,
                ordering: .relaxed
            ).exchanged
        else { return }
        var metadata: Logger.Metadata = [
            "limit": "\(limit.rawValue)", "key": "\(limit.rule.key)",
            "times": "\(meter.unloggedCount.exchange(0, ordering: .relaxed))",
        ]
        // The app of this hit; the others may be those of other apps.
        if let app { metadata["app"] = "\(app.text)" }
        log.notice(
            "limit reached: \(consequence ?? limit.rule.consequence)",
            metadata: metadata
        )
    }
}

extension LimitHits: BrokerObserver {
    package func observedKinds(of app: AppID?) -> BrokerEventKinds { .limits }

    package func observe(_ event: BrokerEvent, of app: AppID?) {
        guard case .limitMet(let limit, let count, let consequence) = event else { return }
        record(limit, of: app, count: count, consequence: consequence)
    }
}
