package import Archive
import Metrics
package import Shard
package import Webhooks

/// Collects the metrics of all shards, only when they are queried.
package actor Gauges {
    private let registry: PrometheusRegistry
    private let reading: @Sendable () async -> ShardReading
    private let archive: Archive?
    /// What each counter has counted.
    private var counted: [Series: Int] = [:]

    /// A counter, and the value of its label.
    private struct Series: Hashable {
        let name: String
        let value: String
    }

    /// Collects what the shards have read.
    ///
    /// - Parameters:
    ///   - registry: The metrics.
    ///   - archive: The archive of stored channels; `nil` without one.
    ///   - reading: Returns the sum of all shards.
    package init(
        registry: PrometheusRegistry,
        archive: Archive?,
        reading: @escaping @Sendable () async -> ShardReading
    ) {
        self.archive = archive
        self.registry = registry
        self.reading = reading
    }

    /// Returns all metrics, in the text format of Prometheus.
    ///
    /// - Parameters:
    ///   - apps: The apps.
    ///   - webhooks: The counters of webhooks.
    /// - Returns: The text.
    package func text(apps: AppRegistry, webhooks: WebhookCounters) async -> String {
        let reading = BrokerReading(
            shards: await self.reading(),
            webhooks: webhooks,
            archive: archive?.reading,
            isArchiveMisplaced: archive?.isMisplaced,
            apps: apps
        )
        for metric in BrokerMetric.all { update(metric, reading) }
        return registry.text
    }

    private func update(_ metric: BrokerMetric, _ reading: BrokerReading) {
        let name = metric.name
        switch metric.source {
        case .observer: break
        case .gauge(let value):
            if let value = value(reading) { Meter(label: name, factory: registry).set(value) }
        case .gauges(let label, let values):
            let values = values(reading).map { (labels: [(label, $0)], value: $1) }
            for (labels, value) in values {
                Meter(label: name, dimensions: labels, factory: registry).set(value)
            }
            registry.remove(name, except: values.map(\.labels))
        case .counter(let value):
            if let value = value(reading) { count(name, [], value) }
        case .counters(let label, let values):
            for (text, value) in values(reading) { count(name, [(label, text)], value) }
        }
    }

    /// Adds what a counter has grown by.
    ///
    /// Concurrent scrapes may overtake each other while they query the shards: no counter decreases or counts twice.
    private func count(_ name: String, _ labels: [(String, String)], _ now: Int) {
        let series = Series(name: name, value: labels.first?.1 ?? "")
        let last = counted[series] ?? 0
        counted[series] = max(last, now)
        Counter(label: name, dimensions: labels, factory: registry).increment(
            by: max(0, now - last)
        )
    }
}
