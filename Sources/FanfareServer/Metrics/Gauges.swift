import Broker
import Metrics
import Webhooks

/// What one shard has at the moment, and what it has counted since the start.
struct ShardReading: Sendable {
    /// Clients.
    var connections = 0
    /// Connections that are no client's yet, or carry HTTP alone.
    var handshakes = 0
    /// Channels with subscribers, whose home the shard is.
    var channels = 0
    /// Bytes of memory that are held for readers which the kernel has no room for.
    var queuedBytes = 0
    /// Bytes of memory that are held of what has come in and is not dealt with yet.
    var inboundBytes = 0
    /// Messages that clients have sent.
    var received = 0
    /// Events that backends and clients have sent to channels whose home the shard is.
    var published = 0
    /// Events for one subscriber each: an event for a thousand is a thousand.
    var delivered = 0
}

/// Puts together what is shown as metrics: shards are asked only then, so that nothing is paid for while nobody looks.
actor Gauges {
    private let registry: PrometheusRegistry
    private let shards: [Shard]
    private var last = ShardReading()
    private var lastWebhooks = WebhookCounters()

    init(registry: PrometheusRegistry, shards: [Shard]) {
        self.registry = registry
        self.shards = shards
    }

    /// All metrics, in the text format of Prometheus.
    ///
    /// - Parameters:
    ///   - apps: The apps that are served.
    ///   - webhooks: What has become of webhooks.
    /// - Returns: The text.
    func text(apps: AppRegistry, webhooks: WebhookCounters) async -> String {
        var sum = ShardReading()
        for shard in shards { sum.add(await shard.reading) }
        note(sum)
        for (id, quota) in apps.quotas {
            set("fanfare_app_connections", quota.takenCount, [("app", id.text)])
        }
        note(webhooks)
        return registry.text
    }

    private func note(_ sum: ShardReading) {
        set("fanfare_connections", sum.connections)
        set("fanfare_handshakes", sum.handshakes)
        set("fanfare_channels", sum.channels)
        set("fanfare_queued_bytes", sum.queuedBytes)
        set("fanfare_inbound_bytes", sum.inboundBytes)
        // Two scrapes may overtake each other while they ask the shards: nothing is counted twice, or backwards.
        count("fanfare_messages_received_total", from: &last.received, to: sum.received)
        count("fanfare_events_published_total", from: &last.published, to: sum.published)
        count("fanfare_events_delivered_total", from: &last.delivered, to: sum.delivered)
    }

    private func note(_ webhooks: WebhookCounters) {
        set("fanfare_webhooks_queued", webhooks.queued)
        set("fanfare_webhooks_unsaved", webhooks.unsaved)
        count(
            "fanfare_webhooks_delivered_total",
            from: &lastWebhooks.delivered,
            to: webhooks.delivered
        )
        count(
            "fanfare_webhook_attempts_failed_total",
            from: &lastWebhooks.failedAttempts,
            to: webhooks.failedAttempts
        )
        count("fanfare_webhooks_dead_total", from: &lastWebhooks.dead, to: webhooks.dead)
    }

    private func set(_ name: String, _ value: Int, _ labels: [(String, String)] = []) {
        Meter(label: name, dimensions: labels, factory: registry).set(value)
    }

    private func count(_ name: String, from last: inout Int, to now: Int) {
        Counter(label: name, factory: registry).increment(by: max(0, now - last))
        last = max(last, now)
    }
}

extension ShardReading {
    fileprivate mutating func add(_ other: ShardReading) {
        connections += other.connections
        handshakes += other.handshakes
        channels += other.channels
        queuedBytes += other.queuedBytes
        inboundBytes += other.inboundBytes
        received += other.received
        published += other.published
        delivered += other.delivered
    }
}
