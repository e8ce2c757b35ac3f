import Metrics
import PusherProtocol

/// Counts how often each limit was met: `fanfare_limit_hits_total`.
///
/// Only a refusal costs anything: an atomic addition.
final class LimitHits: Sendable {
    private let counters: [Limit: Counter]

    /// Makes counters that begin at zero, all of which are there from the start.
    init(_ factory: any MetricsFactory) {
        counters = Dictionary(
            uniqueKeysWithValues: Limit.allCases.map {
                let dimensions = [("limit", $0.rawValue)]
                return (
                    $0,
                    Counter(
                        label: "fanfare_limit_hits_total",
                        dimensions: dimensions,
                        factory: factory
                    )
                )
            }
        )
    }

    /// Counts that a limit was met.
    func note(_ limit: Limit, count: Int = 1) { counters[limit]?.increment(by: count) }
}
