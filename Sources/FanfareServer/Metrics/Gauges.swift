import Archive
import Metrics
import Shard
import Webhooks

/// Collects the metrics of all shards, only when they are queried.
actor Gauges {
    private let registry: PrometheusRegistry
    private let shards: [Shard]
    private let archive: Archive?
    /// What each counter has counted.
    private var counted: [Series: Int] = [:]

    /// A counter, and the value of its label.
    private struct Series: Hashable {
        let name: String
        let value: String
    }

    init(registry: PrometheusRegistry, shards: [Shard], archive: Archive?) {
        self.archive = archive
        self.registry = registry
        self.shards = shards
    }

    /// Returns all metrics, in the text format of Prometheus.
    ///
    /// - Parameters:
    ///   - apps: The apps.
    ///   - webhooks: The counters of webhooks.
    /// - Returns: The text.
    func text(apps: AppRegistry, webhooks: WebhookCounters) async -> String {
        var sum = ShardReading()
        for shard in shards { sum.add(await shard.reading) }
        let reading = BrokerReading(
            shards: sum,
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
