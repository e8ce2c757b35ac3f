import Broker
import Logging
import Metrics
import Net
import PusherProtocol
import Synchronization

/// Counts how often each limit was met, `fanfare_limit_hits_total`, and says so in the log.
///
/// Only a refusal costs anything: two atomic additions and a look at the clock. However many there are, a limit has a
/// line a minute in the log.
final class LimitHits: Sendable {
    private final class Meter: Sendable {
        let counter: Counter
        /// How often it was met since the log said so.
        let untoldCount = Atomic(0)
        /// When the log may speak of it again, in nanoseconds.
        let quietUntil = Atomic<Int64>(.min)

        init(_ counter: Counter) { self.counter = counter }
    }

    private let meters: [Limit: Meter]
    private let log: Logger

    /// The time between two lines about one limit.
    private static let pause: Int64 = 60_000_000_000

    /// Makes counters that begin at zero, all of which are there from the start.
    init(_ factory: any MetricsFactory, log: Logger) {
        self.log = log
        meters = Dictionary(
            uniqueKeysWithValues: Limit.allCases.map {
                let counter = Counter(
                    label: "fanfare_limit_hits_total",
                    dimensions: [("limit", $0.rawValue)],
                    factory: factory
                )
                return ($0, Meter(counter))
            }
        )
    }

    /// Counts that a limit was met.
    ///
    /// - Parameters:
    ///   - limit: The limit.
    ///   - count: How often.
    ///   - consequence: What becomes of whoever met it, if that is not what the limit's rule says; for the log.
    func record(_ limit: Limit, count: Int = 1, consequence: String? = nil) {
        guard let meter = meters[limit] else { return }
        meter.counter.increment(by: count)
        meter.untoldCount.add(count, ordering: .relaxed)
        let now = MonotonicTime.current.nanoseconds
        let quietUntil = meter.quietUntil.load(ordering: .relaxed)
        guard now >= quietUntil,
            meter.quietUntil.compareExchange(
                expected: quietUntil,
                desired: now + Self.pause,
                ordering: .relaxed
            ).exchanged
        else { return }
        log.notice(
            "a limit is met: \(consequence ?? limit.rule.consequence)",
            metadata: [
                "limit": "\(limit.rawValue)", "key": "\(limit.rule.key)",
                "times": "\(meter.untoldCount.exchange(0, ordering: .relaxed))",
            ]
        )
    }
}

extension LimitHits: BrokerObserver {
    func observedKinds(of app: AppID?) -> BrokerEventKinds { app == nil ? .limits : [] }

    func observe(_ event: BrokerEvent, of app: AppID?) {
        guard case .limitMet(let limit, let count, let consequence) = event else { return }
        record(limit, count: count, consequence: consequence)
    }
}
