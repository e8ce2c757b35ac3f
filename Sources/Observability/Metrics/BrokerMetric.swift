import Archive
import Broker
import Shard
import Webhooks

/// A metric of the broker: its name, what Prometheus shows about it, and how its value is read.
package struct BrokerMetric: Sendable {
    /// Where the value is from.
    enum Source: Sendable {
        /// Counted by an observer, as events happen.
        case observer
        /// A value that grows and shrinks; `nil` for what the broker does not have.
        case gauge(@Sendable (BrokerReading) -> Int?)
        /// The same for each value of a label; those that are not among them are removed.
        case gauges(by: String, @Sendable (BrokerReading) -> [(String, Int)])
        /// A value that only grows.
        case counter(@Sendable (BrokerReading) -> Int?)
        /// The same for each value of a label.
        case counters(by: String, @Sendable (BrokerReading) -> [(String, Int)])
    }

    /// The name, which is the label of the metric.
    let name: String
    /// The meaning, in one line: the text of `# HELP`.
    let help: String
    let source: Source

    private init(_ name: String, _ help: String, _ source: Source) {
        self.name = name
        self.help = help
        self.source = source
    }

    /// Those that observers count by name.
    static let connectionsOpened = Self(
        "fanfare_connections_opened_total",
        "Clients that have connected.",
        .observer
    )
    static let connectionsClosed = Self(
        "fanfare_connections_closed_total",
        "Connections of clients that have ended.",
        .observer
    )
    static let queuesDropped = Self(
        "fanfare_queues_dropped_total",
        "Clients closed because they read too slowly.",
        .observer
    )
    static let queuedBytesDropped = Self(
        "fanfare_queued_bytes_dropped_total",
        "Bytes queued for clients that were closed because they read too slowly.",
        .observer
    )
    static let limitHits = Self(
        "fanfare_limit_hits_total",
        "Times that a limit was reached; fanfare check --limits lists them.",
        .observer
    )

    /// All metrics.
    static let all: [BrokerMetric] =
        [
            connectionsOpened, connectionsClosed, queuesDropped, queuedBytesDropped, limitHits,
            Self(
                "fanfare_build_info",
                "1, with the version of the broker.",
                .gauges(by: "version") { _ in [(BrokerVersion.current, 1)] }
            ),
        ] + ofShards + ofRecovery + ofArchive + ofWebhooks + ofCluster

    private static let ofShards: [BrokerMetric] = [
        Self("fanfare_connections", "Connected clients.", .gauge(\.shards.connections)),
        Self(
            "fanfare_app_connections",
            "Connected clients that count towards connections_max of an app.",
            .gauges(by: "app", \.appConnections)
        ),
        Self(
            "fanfare_handshakes",
            "Connections in a handshake, in an HTTP request or between two.",
            .gauge(\.shards.handshakes)
        ),
        Self("fanfare_channels", "Channels with subscribers.", .gauge(\.shards.channels)),
        Self(
            "fanfare_messages_received_total",
            "Messages received from clients.",
            .counter(\.shards.received)
        ),
        Self(
            "fanfare_events_published_total",
            "Events of backends and clients, one for each of their channels.",
            .counter(\.shards.published)
        ),
        Self(
            "fanfare_events_delivered_total",
            "Events and notices sent, one for each subscriber.",
            .counter(\.shards.delivered)
        ),
        Self(
            "fanfare_queued_bytes",
            "Bytes queued for clients that read slowly.",
            .gauge(\.shards.queuedBytes)
        ),
        Self(
            "fanfare_inbound_bytes",
            "Bytes received that are not processed yet.",
            .gauge(\.shards.inboundBytes)
        ),
    ]

    private static let ofRecovery: [BrokerMetric] = [
        Self(
            "fanfare_recovery_resumes_total",
            "Subscriptions of clients that track their position, by result.",
            .counters(by: "result") { reading in
                RecoveryCounts.Result.allCases.map { ($0.rawValue, reading.shards.recovery[$0]) }
            }
        ),
        Self(
            "fanfare_recovery_resumes_waiting",
            "Subscriptions that wait because many replays are unsent.",
            .gauge(\.shards.waitingResumes)
        ),
        Self(
            "fanfare_recovery_window_seconds",
            "How long messages of an app are kept now, in seconds.",
            .gauges(by: "app") { $0.shards.windows.map { ($0.text, $1) } }
        ),
        Self(
            "fanfare_recovery_evicted_total",
            "Kept messages that were dropped before their time, by the limit.",
            .counters(by: "limit") { reading in
                // Redis drops positions too.
                let elsewhere = reading.cluster?.counts.forgottenPositions ?? 0
                return RecoveryCounts.Eviction.allCases.map {
                    let count = reading.shards.recovery[$0]
                    return ($0.rawValue, $0 == .positions ? count + elsewhere : count)
                }
            }
        ),
    ]

    private static let ofArchive: [BrokerMetric] = [
        Self(
            "fanfare_store_commits_total",
            "Transactions written to the file of recovery.database.",
            .counter(\.archive?.transactions)
        ),
        Self(
            "fanfare_store_failures_total",
            "Transactions that could not be written to the file of recovery.database.",
            .counter(\.archive?.failures)
        ),
        Self(
            "fanfare_store_unstored_bytes",
            "Bytes of events that wait for the file of recovery.database.",
            .gauge(\.archive?.unstoredBytes)
        ),
        Self(
            "fanfare_store_read_bytes",
            "Bytes read from the file of recovery.database that are not queued for their clients yet.",
            .gauge(\.archive?.readBytes)
        ),
        Self(
            "fanfare_store_file_bytes",
            "Bytes of the file of recovery.database in use.",
            .gauge(\.archive?.fileBytes)
        ),
        Self(
            "fanfare_store_damaged_sessions_total",
            "Sessions in the file of recovery.database that were damaged and are forgotten.",
            .counter(\.archive?.damagedSessions)
        ),
        Self(
            "fanfare_store_damaged_rows_total",
            "Rows of the file of recovery.database that were damaged or missing, and are refused.",
            .counter(\.archive?.damagedRows)
        ),
        Self(
            "fanfare_store_misplaced",
            "1 while the file of recovery.database is not at its path; it is not written then.",
            .gauge { $0.isArchiveMisplaced.map { $0 ? 1 : 0 } }
        ),
        Self(
            "fanfare_clock_steps_total",
            "Times that the system clock was found changed by more than a second.",
            .counter(\.archive?.clockSteps)
        ),
    ]

    private static let ofWebhooks: [BrokerMetric] = [
        Self(
            "fanfare_webhooks_queued",
            "Webhooks that wait to be sent.",
            .gauge(\.webhooks.queued)
        ),
        Self(
            "fanfare_webhooks_unsaved",
            "Webhooks that are only in memory.",
            .gauge(\.webhooks.unsaved)
        ),
        Self(
            "fanfare_webhooks_delivered_total",
            "Webhooks that an endpoint has accepted.",
            .counter(\.webhooks.delivered)
        ),
        Self(
            "fanfare_webhook_attempts_failed_total",
            "Requests to an endpoint that have failed.",
            .counter(\.webhooks.failedAttempts)
        ),
        Self(
            "fanfare_webhooks_dead_total",
            "Webhooks given up; fanfare webhooks lists them.",
            .counter(\.webhooks.dead)
        ),
        Self(
            "fanfare_webhooks_damaged_total",
            "Webhooks and dead letters whose rows in the file were damaged, and are deleted.",
            .counter(\.webhooks.damaged)
        ),
    ]

    private static let ofCluster: [BrokerMetric] = [
        Self(
            "fanfare_cluster_connections",
            "Connections to Redis.",
            .gauge(\.cluster?.connections)
        ),
        Self(
            "fanfare_cluster_attached_channels",
            "Channels that the node follows in Redis.",
            .gauge(\.cluster?.attachedChannels)
        ),
        Self(
            "fanfare_cluster_waiting_bytes",
            "Bytes of events that wait for Redis.",
            .gauge(\.cluster?.waitingBytes)
        ),
        Self(
            "fanfare_cluster_round_trip_microseconds",
            "Time of the last call to Redis, in microseconds.",
            .gauge(\.cluster?.roundTripMicroseconds)
        ),
        Self(
            "fanfare_cluster_leaderships",
            "Partitions whose webhooks the node sends.",
            .gauge(\.cluster?.leaderships)
        ),
        Self(
            "fanfare_cluster_webhooks_waiting",
            "Webhooks of all nodes that wait in the partitions of this one.",
            .gauge(\.cluster?.waitingWebhooks)
        ),
        Self(
            "fanfare_cluster_connection_faults_total",
            "Lost connections to Redis, by the reason.",
            .counters(by: "reason") { ($0.cluster?.counts.faults ?? [:]).map { ($0, $1) } }
        ),
        Self(
            "fanfare_cluster_caught_up_messages_total",
            "Messages read from Redis after a lost connection.",
            .counter(\.cluster?.counts.caughtUp)
        ),
        Self(
            "fanfare_cluster_gaps_reported_total",
            "Channels whose clients were notified of a gap after a lost connection.",
            .counter(\.cluster?.counts.gaps)
        ),
        Self(
            "fanfare_cluster_divergences_total",
            "Channels whose position differed from that in Redis; must stay 0.",
            .counter(\.cluster?.counts.divergences)
        ),
        Self(
            "fanfare_cluster_refused_replies_total",
            "Messages and replies of Redis that were refused as damaged; must stay 0.",
            .counter(\.cluster?.counts.refusals)
        ),
        Self(
            "fanfare_cluster_nodes_reaped_total",
            "Dead nodes that this one has removed from Redis.",
            .counter(\.cluster?.counts.reapedNodes)
        ),
        Self(
            "fanfare_cluster_members_reaped_total",
            "Members of dead nodes that this one has removed from Redis.",
            .counter(\.cluster?.counts.reapedMembers)
        ),
        Self(
            "fanfare_cluster_partitions_moved_total",
            "Partitions whose slot has moved to another server of a Redis Cluster.",
            .counter(\.cluster?.counts.movedPartitions)
        ),
        Self(
            "fanfare_cluster_webhooks_dropped_total",
            "Webhooks that did not fit into the queue in Redis.",
            .counter(\.cluster?.counts.droppedWebhooks)
        ),
    ]

    /// The meanings by name.
    package static let helpTexts = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0.help) })
}
