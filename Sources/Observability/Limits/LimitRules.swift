import Archive
import Broker
import BrokerConfiguration
import Net
import PusherProtocol
import Shard

extension Limit {
    /// The limit's key, audience, effect and usage: the source of the table in docs/limits.md and of log messages.
    package var rule: LimitRule {
        switch self {
        // Connecting.
        case .connections:
            .process(
                "connections_max",
                .newConnections,
                "the client is closed with 4100 (none: the descriptor limit)",
                .ofAll {
                    ($0.connectionCount, $0.configuration.connectionsMax ?? DescriptorLimit.current)
                }
            )
        case .connectionsPerAddress:
            .process(
                "connections_per_address_max",
                .newConnections,
                "the client is closed with 4100 (none: a quarter of all connections, once half are "
                    + "in use)"
            )
        case .newConnections:
            .process(
                "new_connections_per_second_max",
                .newConnections,
                "the client is closed with 4100"
            )
        case .newConnectionsPerAddress:
            .process(
                "new_connections_per_address_per_second_max",
                .newConnections,
                "the client is closed with 4100"
            )
        case .handshakes:
            .process(
                "handshakes_max",
                .newConnections,
                "the broker aborts refused connections that are still open, then the connections "
                    + "idle longest (a second or more; 503 and Retry-After if within a request), "
                    + "then the requests that have waited longest for an answer; new connections "
                    + "wait; from seven eighths of the limit, each answer closes its connection",
                .ofAll { ($0.usage.handshakes, $0.configuration.admission.handshakesMax) }
            )
        case .appConnections:
            .app("connections_max", .newConnections, "the client is closed with 4004") {
                ($0.connectionCount, $0.limits.connectionsMax)
            }
        case .authorizationTime:
            .app(
                "features.authorization_timeout",
                .newConnections,
                "the client is closed with 4009"
            )

        // Timeouts.
        case .tlsHandshakeTime:
            .process("tls_handshake_timeout", .newConnections, "the connection is closed")
        case .requestHeadTime:
            .process("request_head_timeout", .newConnections, "the request is refused with 408")
        case .requestBodyTime:
            .process("request_body_timeout", .backends, "the request is refused with 408")
        case .requestIdleTime:
            .process("request_idle_timeout", .newConnections, "the connection is closed")
        case .answerTime:
            .process(
                "answer_timeout",
                .backends,
                "the request is refused with 503 and Retry-After; it may have been executed"
            )
        case .pongTime:
            LimitRule("clients.pong_timeout", .clients, "the client is closed with 4201")
        case .triggerTime:
            .process(
                "trigger_timeout",
                .backends,
                "the trigger is refused with 503 and Retry-After"
            )
        case .messageTime: .process("message_timeout", .clients, "the client is closed with 4100")

        // Sizes of messages and requests.
        case .requestHeadLength:
            .process(
                "request_head_length_max",
                .newConnections,
                "the request is refused with 431 or 414"
            )
        case .requestBodyLength:
            .process("request_body_length_max", .backends, "the request is refused with 413")
        case .messageLength:
            .process("message_length_max", .clients, "the client is closed with 1009")
        case .messageFragments:
            .process("message_fragments_max", .clients, "the client is closed with 1009")
        case .channelNameLength:
            .app(
                "channel_name_length_max",
                .clients,
                LimitRule.refusedSubscription + "; 400 for a backend"
            )
        case .eventDataLength:
            .app(
                "event_data_length_max",
                .backends,
                "the trigger is refused with 413; a client event is dropped and counts as a faulty "
                    + "message"
            )
        case .userInfoLength:
            .app("user_info_length_max", .clients, LimitRule.refusedSubscription)
        case .triggerChannels:
            .app("trigger_channels_max", .backends, "the trigger is refused with 400")
        case .batchEvents: .app("batch_events_max", .backends, "the batch is refused with 400")

        // Rates.
        case .requestRate: .app("requests_per_second_max", .backends, "429 and Retry-After")
        case .triggerRate: .app("triggers_per_second_max", .backends, "429 and Retry-After")
        case .queryRate: .app("queries_per_second_max", .backends, "429 and Retry-After")
        case .terminationRate: .app("terminations_per_second_max", .backends, "429 and Retry-After")
        case .subscriptionRate:
            .app("subscriptions_per_second_max", .clients, LimitRule.refusedSubscription)
        case .clientEventRate:
            .app("client_events_per_second_max", .clients, "the event is dropped with 4301")
        case .faultRate:
            .app("faulty_messages_per_minute_max", .clients, "the client is closed with 4100")

        // Stored state.
        case .subscriptions: .app("subscriptions_max", .clients, LimitRule.refusedSubscription)
        case .members: .app("members_max", .clients, LimitRule.refusedSubscription)
        case .watchlist:
            .app(
                "watchlist_max",
                .clients,
                "only the first users are watched; the client gets 4302"
            )
        case .cachedEvents:
            .app("cached_events_max", .clients, "the oldest cached event is dropped") {
                ($0.used.cachedEvents, $0.limits.cachedEventsMax)
            }
        case .idempotencyKeys:
            .app("idempotency_keys_max", .backends, "the oldest key is forgotten") {
                ($0.used.idempotencyKeys, $0.limits.idempotencyKeysMax)
            }
        case .recoveryPositions:
            .app(
                "recovery.positions_max",
                .returningClients,
                "the broker forgets the channel that has had no subscribers longest; clients that "
                    + "resubscribe to it are notified of a gap"
            ) { ($0.used.vacantPositions, $0.recovery.positionsMax) }
        case .recoverySessions:
            .app(
                "recovery.sessions_max",
                .returningClients,
                "the broker forgets the session that has been disconnected longest; its client is "
                    + "notified of a gap when it reconnects; if all sessions are connected, a "
                    + "client with a new token has no recovery, and is notified; an address with a "
                    + "quarter of all sessions replaces only its own"
            ) { ($0.used.sessions, $0.recovery.sessionsMax) }
        case .openedStreams:
            .app(
                "recovery.opened_streams_max",
                .clients,
                "a subscription that would open another public channel gets "
                    + LimitRule.refusedSubscription
                    + "; once half is in use, one address gets at most a quarter"
            ) { ($0.used.openedStreams, $0.recovery.openedStreamsMax) }
        case .sessionBytes:
            .app(
                "recovery.session_bytes_max",
                .returningClients,
                "the broker drops the positions of a disconnected session; its client is notified "
                    + "of a gap when it reconnects; once half is in use, one address gets at most "
                    + "a quarter"
            ) { ($0.used.sessionBytes, $0.recovery.sessionBytesMax) }
        case .appRetainedBytes:
            .app(
                "recovery.retained_bytes_max",
                .returningClients,
                "the broker drops the app's oldest messages; clients that missed them are notified "
                    + "of a gap"
            ) { ($0.used.retainedBytes, $0.recovery.retainedBytesMax) }
        case .retainedBytesTotal:
            .process(
                "retained_bytes_total_max",
                .returningClients,
                "the broker drops the oldest messages of all apps (none: an eighth of the memory)",
                .ofAll { ($0.usage.retainedBytes, $0.settings.retainedBytesMax) }
            )
        case .unstoredBytes:
            LimitRule(
                "recovery.unstored_bytes_max",
                .backends,
                "503 and Retry-After on stored channels",
                .ofAll { usage in
                    usage.archive.map {
                        ($0.unstoredBytes, usage.settings.unstoredBytesMax)
                    }
                }
            )
        case .databaseBytes:
            LimitRule(
                "recovery.database_bytes_max",
                .returningClients,
                "the broker drops the oldest messages of all stored channels; sessions get another "
                    + "quarter of this limit: above it, clients with many channels are notified of "
                    + "a gap after a restart",
                .ofAll { usage in
                    usage.archive.map {
                        ($0.fileBytes, usage.configuration.recovery.databaseBytesMax)
                    }
                }
            )
        case .archiveReadBytes:
            .process(
                "queued_bytes_total_max",
                .returningClients,
                "further reads of replays or history from the file wait (an eighth of "
                    + "queued_bytes_total_max, at most 8 MiB)",
                .ofAll { usage in
                    usage.archive.map { ($0.readBytes, usage.settings.archiveReadBytesMax) }
                }
            )

        // Queues.
        case .queuedBytes:
            .process("queued_bytes_max", .clients, "the slow reader is closed with 4100")
        case .appQueuedBytes:
            .app(
                "queued_bytes_max",
                .clients,
                "from three quarters, new connections are closed with 4100; at the limit, the "
                    + "clients with the longest queues are closed with 4100"
            ) { ($0.used.queuedBytes, $0.limits.queuedBytesMax) }
        case .queuedBytesTotal:
            .process(
                "queued_bytes_total_max",
                .clients,
                "the same for all apps (none: a quarter of the memory)",
                .ofAll { ($0.usage.queuedBytes, $0.settings.heldBytesMax * $0.settings.shardCount) }
            )
        case .inboundBytes:
            .process(
                "queued_bytes_total_max",
                .backends,
                "503 and Retry-After; a client with a partial message is closed with 4100 (a "
                    + "quarter of queued_bytes_total_max, at most 128 MiB)",
                .ofAll {
                    ($0.usage.inboundBytes, $0.settings.inboundBytesMax * $0.settings.shardCount)
                }
            )
        case .relayedEvents: .process("relayed_events_max", .backends, "503 and Retry-After")
        case .clusterQueuedBytes:
            LimitRule("cluster.redis.queued_bytes_max", .backends, "503 and Retry-After")
        case .webhooksInFlight:
            LimitRule("webhooks.in_flight_max", .webhookEndpoints, "further webhooks wait")
        case .webhooksQueued:
            LimitRule(
                "webhooks.queued_max",
                .webhookEndpoints,
                "the oldest become dead letters",
                .ofAll { ($0.webhookCount, $0.configuration.webhooks.queuedMax) }
            )
        case .webhookBytesQueued:
            LimitRule(
                "webhooks.queued_bytes_max",
                .webhookEndpoints,
                "the oldest become dead letters"
            )
        }
    }
}
