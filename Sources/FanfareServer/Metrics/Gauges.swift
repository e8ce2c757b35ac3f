import Archive
import Broker
import Metrics
import Webhooks

/// Collects the metrics of all shards, only when they are queried.
actor Gauges {
    private let registry: PrometheusRegistry
    private let shards: [Shard]
    private let archive: Archive?
    private var lastArchive = Archive.Reading()
    private var last = ShardReading()
    private var lastCluster = ClusterCounts()
    private var lastWebhooks = WebhookCounters()

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
        update(sum)
        for (id, quota) in apps.quotas {
            set("fanfare_app_connections", quota.takenCount, [("app", id.text)])
        }
        update(webhooks)
        if let archive { update(archive.reading) }
        return registry.text
    }

    private func update(_ sum: ShardReading) {
        set("fanfare_connections", sum.connections)
        set("fanfare_handshakes", sum.handshakes)
        set("fanfare_channels", sum.channels)
        set("fanfare_queued_bytes", sum.queuedBytes)
        set("fanfare_inbound_bytes", sum.inboundBytes)
        // Concurrent scrapes may overtake each other while they query the shards: no counter decreases or counts twice.
        count("fanfare_messages_received_total", from: &last.received, to: sum.received)
        count("fanfare_events_published_total", from: &last.published, to: sum.published)
        count("fanfare_events_delivered_total", from: &last.delivered, to: sum.delivered)
        set("fanfare_recovery_resumes_waiting", sum.waitingResumes)
        update(sum.recovery)
        if let cluster = sum.cluster { update(cluster) }
        for (app, seconds) in sum.windows {
            set("fanfare_recovery_window_seconds", seconds, [("app", app.text)])
        }
    }

    private func update(_ recovery: RecoveryCounts) {
        for result in RecoveryCounts.Result.allCases {
            count(
                "fanfare_recovery_resumes_total",
                [("result", result.rawValue)],
                by: recovery[result] - last.recovery[result]
            )
        }
        for eviction in RecoveryCounts.Eviction.allCases {
            count(
                "fanfare_recovery_evicted_total",
                [("limit", eviction.rawValue)],
                by: recovery[eviction] - last.recovery[eviction]
            )
        }
        last.recovery.advance(to: recovery)
    }

    private func update(_ cluster: ClusterReading) {
        set("fanfare_cluster_connections", cluster.connections)
        set("fanfare_cluster_attached_channels", cluster.attachedChannels)
        set("fanfare_cluster_waiting_bytes", cluster.waitingBytes)
        set("fanfare_cluster_round_trip_microseconds", cluster.roundTripMicroseconds)
        set("fanfare_cluster_leaderships", cluster.leaderships)
        set("fanfare_cluster_webhooks_waiting", cluster.waitingWebhooks)
        for (reason, faults) in cluster.counts.faults {
            count(
                "fanfare_cluster_connection_faults_total",
                [("reason", reason)],
                by: faults - lastCluster.faults[reason, default: 0]
            )
        }
        let former = lastCluster
        for (name, count) in [
            ("caught_up_messages", \ClusterCounts.caughtUp), ("gaps_reported", \.gaps),
            ("divergences", \.divergences), ("nodes_reaped", \.reapedNodes),
            ("members_reaped", \.reapedMembers), ("partitions_moved", \.movedPartitions),
            ("webhooks_dropped", \.droppedWebhooks),
        ] {
            let growth = cluster.counts[keyPath: count] - former[keyPath: count]
            self.count("fanfare_cluster_\(name)_total", by: growth)
        }
        lastCluster.advance(to: cluster.counts)
    }

    private func update(_ webhooks: WebhookCounters) {
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

    private func update(_ archive: Archive.Reading) {
        set("fanfare_store_unstored_bytes", archive.unstoredBytes)
        set("fanfare_store_file_bytes", archive.fileBytes)
        count(
            "fanfare_store_commits_total",
            from: &lastArchive.transactions,
            to: archive.transactions
        )
        count("fanfare_store_failures_total", from: &lastArchive.failures, to: archive.failures)
        count(
            "fanfare_store_damaged_sessions_total",
            from: &lastArchive.damagedSessions,
            to: archive.damagedSessions
        )
    }

    private func set(_ name: String, _ value: Int, _ labels: [(String, String)] = []) {
        Meter(label: name, dimensions: labels, factory: registry).set(value)
    }

    private func count(_ name: String, from last: inout Int, to now: Int) {
        count(name, by: now - last)
        last = max(last, now)
    }

    private func count(_ name: String, _ labels: [(String, String)] = [], by growth: Int) {
        Counter(label: name, dimensions: labels, factory: registry).increment(by: max(0, growth))
    }
}

extension ShardReading {
    /// Adds the reading of another shard.
    mutating func add(_ other: ShardReading) {
        connections += other.connections
        handshakes += other.handshakes
        channels += other.channels
        queuedBytes += other.queuedBytes
        inboundBytes += other.inboundBytes
        received += other.received
        published += other.published
        delivered += other.delivered
        waitingResumes += other.waitingResumes
        recovery.add(other.recovery)
        if let added = other.cluster {
            cluster = cluster ?? ClusterReading()
            cluster?.add(added)
        }
        windows.merge(other.windows) { min($0, $1) }
    }
}
