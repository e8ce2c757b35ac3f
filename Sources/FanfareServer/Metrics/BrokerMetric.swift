/// The broker's metrics: the names, and what Prometheus shows about each.
enum BrokerMetric: String, CaseIterable {
    case buildInfo = "fanfare_build_info"
    case connections = "fanfare_connections"
    case connectionsOpened = "fanfare_connections_opened_total"
    case connectionsClosed = "fanfare_connections_closed_total"
    case appConnections = "fanfare_app_connections"
    case handshakes = "fanfare_handshakes"
    case channels = "fanfare_channels"
    case messagesReceived = "fanfare_messages_received_total"
    case eventsPublished = "fanfare_events_published_total"
    case eventsDelivered = "fanfare_events_delivered_total"
    case queuedBytes = "fanfare_queued_bytes"
    case inboundBytes = "fanfare_inbound_bytes"
    case queuesDropped = "fanfare_queues_dropped_total"
    case queuedBytesDropped = "fanfare_queued_bytes_dropped_total"
    case limitHits = "fanfare_limit_hits_total"
    case recoveryResumes = "fanfare_recovery_resumes_total"
    case recoveryResumesWaiting = "fanfare_recovery_resumes_waiting"
    case recoveryWindow = "fanfare_recovery_window_seconds"
    case recoveryEvicted = "fanfare_recovery_evicted_total"
    case storeCommits = "fanfare_store_commits_total"
    case storeFailures = "fanfare_store_failures_total"
    case storeUnstoredBytes = "fanfare_store_unstored_bytes"
    case storeReadBytes = "fanfare_store_read_bytes"
    case storeFileBytes = "fanfare_store_file_bytes"
    case storeDamagedSessions = "fanfare_store_damaged_sessions_total"
    case storeDamagedRows = "fanfare_store_damaged_rows_total"
    case storeMisplaced = "fanfare_store_misplaced"
    case clockSteps = "fanfare_clock_steps_total"
    case webhooksQueued = "fanfare_webhooks_queued"
    case webhooksUnsaved = "fanfare_webhooks_unsaved"
    case webhooksDelivered = "fanfare_webhooks_delivered_total"
    case webhookAttemptsFailed = "fanfare_webhook_attempts_failed_total"
    case webhooksDead = "fanfare_webhooks_dead_total"
    case webhooksDamaged = "fanfare_webhooks_damaged_total"
    case clusterConnections = "fanfare_cluster_connections"
    case clusterAttachedChannels = "fanfare_cluster_attached_channels"
    case clusterWaitingBytes = "fanfare_cluster_waiting_bytes"
    case clusterRoundTrip = "fanfare_cluster_round_trip_microseconds"
    case clusterLeaderships = "fanfare_cluster_leaderships"
    case clusterWebhooksWaiting = "fanfare_cluster_webhooks_waiting"
    case clusterConnectionFaults = "fanfare_cluster_connection_faults_total"
    case clusterCaughtUp = "fanfare_cluster_caught_up_messages_total"
    case clusterGaps = "fanfare_cluster_gaps_reported_total"
    case clusterDivergences = "fanfare_cluster_divergences_total"
    case clusterRefusals = "fanfare_cluster_refused_replies_total"
    case clusterNodesReaped = "fanfare_cluster_nodes_reaped_total"
    case clusterMembersReaped = "fanfare_cluster_members_reaped_total"
    case clusterPartitionsMoved = "fanfare_cluster_partitions_moved_total"
    case clusterWebhooksDropped = "fanfare_cluster_webhooks_dropped_total"

    /// The meaning, in one line: the text of `# HELP`.
    var help: String {
        switch self {
        case .buildInfo: "1, with the version of the broker."
        case .connections: "Connected clients."
        case .connectionsOpened: "Clients that have connected."
        case .connectionsClosed: "Connections of clients that have ended."
        case .appConnections: "Connected clients that count towards connections_max of an app."
        case .handshakes: "Connections in a handshake, in an HTTP request or between two."
        case .channels: "Channels with subscribers."
        case .messagesReceived: "Messages received from clients."
        case .eventsPublished: "Events of backends and clients, one for each of their channels."
        case .eventsDelivered: "Events and notices sent, one for each subscriber."
        case .queuedBytes: "Bytes queued for clients that read slowly."
        case .inboundBytes: "Bytes received that are not processed yet."
        case .queuesDropped: "Clients closed because they read too slowly."
        case .queuedBytesDropped:
            "Bytes queued for clients that were closed because they read too slowly."
        case .limitHits: "Times that a limit was reached; fanfare check --limits lists them."
        case .recoveryResumes:
            "Subscriptions of clients that track their position, by result."
        case .recoveryResumesWaiting: "Subscriptions that wait because many replays are unsent."
        case .recoveryWindow: "How long messages of an app are kept now, in seconds."
        case .recoveryEvicted: "Kept messages that were dropped before their time, by the limit."
        case .storeCommits: "Transactions written to the file of recovery.database."
        case .storeFailures:
            "Transactions that could not be written to the file of recovery.database."
        case .storeUnstoredBytes: "Bytes of events that wait for the file of recovery.database."
        case .storeReadBytes:
            "Bytes read from the file of recovery.database that are not queued for their clients yet."
        case .storeFileBytes: "Bytes of the file of recovery.database in use."
        case .storeDamagedSessions:
            "Sessions in the file of recovery.database that were damaged and are forgotten."
        case .storeDamagedRows:
            "Rows of the file of recovery.database that were damaged or missing, and are refused."
        case .storeMisplaced:
            "1 while the file of recovery.database is not at its path; it is not written then."
        case .clockSteps: "Times that the system clock was found changed by more than a second."
        case .webhooksQueued: "Webhooks that wait to be sent."
        case .webhooksUnsaved: "Webhooks that are only in memory."
        case .webhooksDelivered: "Webhooks that an endpoint has accepted."
        case .webhookAttemptsFailed: "Requests to an endpoint that have failed."
        case .webhooksDead: "Webhooks given up; fanfare webhooks lists them."
        case .webhooksDamaged:
            "Webhooks and dead letters whose rows in the file were damaged, and are deleted."
        case .clusterConnections: "Connections to Redis."
        case .clusterAttachedChannels: "Channels that the node follows in Redis."
        case .clusterWaitingBytes: "Bytes of events that wait for Redis."
        case .clusterRoundTrip: "Time of the last call to Redis, in microseconds."
        case .clusterLeaderships: "Partitions whose webhooks the node sends."
        case .clusterWebhooksWaiting:
            "Webhooks of all nodes that wait in the partitions of this one."
        case .clusterConnectionFaults: "Lost connections to Redis, by the reason."
        case .clusterCaughtUp: "Messages read from Redis after a lost connection."
        case .clusterGaps: "Channels whose clients were notified of a gap after a lost connection."
        case .clusterDivergences:
            "Channels whose position differed from that in Redis; must stay 0."
        case .clusterRefusals:
            "Messages and replies of Redis that were refused as damaged; must stay 0."
        case .clusterNodesReaped: "Dead nodes that this one has removed from Redis."
        case .clusterMembersReaped: "Members of dead nodes that this one has removed from Redis."
        case .clusterPartitionsMoved:
            "Partitions whose slot has moved to another server of a Redis Cluster."
        case .clusterWebhooksDropped: "Webhooks that did not fit into the queue in Redis."
        }
    }

    /// The meanings by name.
    static let helpTexts = Dictionary(
        uniqueKeysWithValues: allCases.map { ($0.rawValue, $0.help) }
    )
}
