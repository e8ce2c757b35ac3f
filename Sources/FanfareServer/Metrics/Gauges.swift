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
        set(.buildInfo, 1, [("version", BrokerVersion.current)])
        update(sum, apps)
        // The quota of a removed app is kept until its connections have ended.
        let quotas = apps.quotas.filter { apps.apps[$0.key] != nil }
        set(.appConnections, quotas.map { ($0, $1.takenCount) })
        update(webhooks)
        if let archive {
            update(archive.reading)
            set(.storeMisplaced, archive.isMisplaced ? 1 : 0)
        }
        return registry.text
    }

    private func update(_ sum: ShardReading, _ apps: AppRegistry) {
        set(.connections, sum.connections)
        set(.handshakes, sum.handshakes)
        set(.channels, sum.channels)
        set(.queuedBytes, sum.queuedBytes)
        set(.inboundBytes, sum.inboundBytes)
        // Concurrent scrapes may overtake each other while they query the shards: no counter decreases or counts twice.
        count(.messagesReceived, from: &last.received, to: sum.received)
        count(.eventsPublished, from: &last.published, to: sum.published)
        count(.eventsDelivered, from: &last.delivered, to: sum.delivered)
        set(.recoveryResumesWaiting, sum.waitingResumes)
        update(sum.recovery)
        if let cluster = sum.cluster { update(cluster) }
        set(.recoveryWindow, sum.windows.filter { apps.apps[$0.key] != nil }.map { ($0, $1) })
    }

    private func update(_ recovery: RecoveryCounts) {
        for result in RecoveryCounts.Result.allCases {
            count(
                .recoveryResumes,
                [("result", result.rawValue)],
                by: recovery[result] - last.recovery[result]
            )
        }
        for eviction in RecoveryCounts.Eviction.allCases {
            count(
                .recoveryEvicted,
                [("limit", eviction.rawValue)],
                by: recovery[eviction] - last.recovery[eviction]
            )
        }
        last.recovery.advance(to: recovery)
    }

    private func update(_ cluster: ClusterReading) {
        set(.clusterConnections, cluster.connections)
        set(.clusterAttachedChannels, cluster.attachedChannels)
        set(.clusterWaitingBytes, cluster.waitingBytes)
        set(.clusterRoundTrip, cluster.roundTripMicroseconds)
        set(.clusterLeaderships, cluster.leaderships)
        set(.clusterWebhooksWaiting, cluster.waitingWebhooks)
        for (reason, faults) in cluster.counts.faults {
            count(
                .clusterConnectionFaults,
                [("reason", reason)],
                by: faults - lastCluster.faults[reason, default: 0]
            )
        }
        let former = lastCluster
        count(
            .recoveryEvicted,
            [("limit", RecoveryCounts.Eviction.positions.rawValue)],
            by: cluster.counts.forgottenPositions - former.forgottenPositions
        )
        for (metric, count) in [
            (BrokerMetric.clusterCaughtUp, \ClusterCounts.caughtUp), (.clusterGaps, \.gaps),
            (.clusterDivergences, \.divergences), (.clusterNodesReaped, \.reapedNodes),
            (.clusterMembersReaped, \.reapedMembers),
            (.clusterPartitionsMoved, \.movedPartitions),
            (.clusterWebhooksDropped, \.droppedWebhooks), (.clusterRefusals, \.refusals),
        ] {
            let growth = cluster.counts[keyPath: count] - former[keyPath: count]
            self.count(metric, by: growth)
        }
        lastCluster.advance(to: cluster.counts)
    }

    private func update(_ webhooks: WebhookCounters) {
        set(.webhooksQueued, webhooks.queued)
        set(.webhooksUnsaved, webhooks.unsaved)
        count(
            .webhooksDelivered,
            from: &lastWebhooks.delivered,
            to: webhooks.delivered
        )
        count(
            .webhookAttemptsFailed,
            from: &lastWebhooks.failedAttempts,
            to: webhooks.failedAttempts
        )
        count(.webhooksDead, from: &lastWebhooks.dead, to: webhooks.dead)
        count(.webhooksDamaged, from: &lastWebhooks.damaged, to: webhooks.damaged)
    }

    private func update(_ archive: Archive.Reading) {
        set(.storeUnstoredBytes, archive.unstoredBytes)
        set(.storeReadBytes, archive.readBytes)
        set(.storeFileBytes, archive.fileBytes)
        count(
            .storeCommits,
            from: &lastArchive.transactions,
            to: archive.transactions
        )
        count(.storeFailures, from: &lastArchive.failures, to: archive.failures)
        count(
            .storeDamagedSessions,
            from: &lastArchive.damagedSessions,
            to: archive.damagedSessions
        )
        count(.storeDamagedRows, from: &lastArchive.damagedRows, to: archive.damagedRows)
        count(.clockSteps, from: &lastArchive.clockSteps, to: archive.clockSteps)
    }

    private func set(_ metric: BrokerMetric, _ value: Int, _ labels: [(String, String)] = []) {
        Meter(label: metric.rawValue, dimensions: labels, factory: registry).set(value)
    }

    /// Sets a gauge of each app, and removes those of apps that have none any more.
    private func set(_ metric: BrokerMetric, _ values: [(app: AppID, value: Int)]) {
        for (app, value) in values { set(metric, value, [("app", app.text)]) }
        registry.remove(metric.rawValue, except: values.map { [("app", $0.app.text)] })
    }

    private func count(_ metric: BrokerMetric, from last: inout Int, to now: Int) {
        count(metric, by: now - last)
        last = max(last, now)
    }

    private func count(
        _ metric: BrokerMetric,
        _ labels: [(String, String)] = [],
        by growth: Int
    ) {
        Counter(label: metric.rawValue, dimensions: labels, factory: registry)
            .increment(by: max(0, growth))
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
        keptBytes += other.keptBytes
        if let added = other.cluster {
            cluster = cluster ?? ClusterReading()
            cluster?.add(added)
        }
        windows.merge(other.windows) { min($0, $1) }
    }
}
