import PusherProtocol

/// The key of a limit, and the effect when it is reached.
struct LimitRule {
    /// The key of the configuration, with `N` for the position of an app.
    let key: String
    /// The effect when the limit is reached.
    let consequence: String

    init(_ key: String, _ consequence: String) {
        self.key = key
        self.consequence = consequence
    }

    /// Creates the rule of a limit for each app.
    fileprivate static func app(_ key: String, _ consequence: String) -> LimitRule {
        LimitRule("apps.N." + key, consequence)
    }

    /// Whether the limit is one of each app.
    var isOfApp: Bool { key.utf8.starts(with: "apps.N.".utf8) }

    fileprivate static func process(_ key: String, _ consequence: String) -> LimitRule {
        LimitRule("limits." + key, consequence)
    }

    /// The effect of a refused subscription: `Session` counts it in ``Limit/faultRate``.
    fileprivate static let refusedSubscription =
        "pusher:subscription_error; counts as a faulty message"
}

extension Limit {
    /// The limit's key and effect: the source of the table in docs/limits.md and of log messages.
    var rule: LimitRule {
        switch self {
        case .connections, .connectionsPerAddress, .newConnections, .newConnectionsPerAddress,
            .handshakes, .appConnections, .authorizationTime:
            admissionRule
        case .tlsHandshakeTime, .requestHeadTime, .requestBodyTime, .requestIdleTime, .answerTime,
            .pongTime, .triggerTime, .messageTime:
            timeRule
        case .requestHeadLength, .requestBodyLength, .messageLength, .messageFragments,
            .channelNameLength, .eventDataLength, .userInfoLength, .triggerChannels, .batchEvents:
            lengthRule
        case .requestRate, .triggerRate, .queryRate, .terminationRate, .subscriptionRate,
            .clientEventRate, .faultRate:
            rateRule
        case .recoveryPositions, .recoverySessions, .appRetainedBytes, .retainedBytesTotal,
            .unstoredBytes, .databaseBytes, .archiveReadBytes, .openedStreams, .sessionBytes:
            recoveryRule
        case .subscriptions, .members, .watchlist, .cachedEvents, .idempotencyKeys, .queuedBytes,
            .appQueuedBytes, .queuedBytesTotal, .inboundBytes, .relayedEvents,
            .clusterQueuedBytes, .webhooksInFlight, .webhooksQueued, .webhookBytesQueued:
            quantityRule
        }
    }

    private var admissionRule: LimitRule {
        switch self {
        case .connectionsPerAddress:
            .process(
                "connections_per_address_max",
                "the client is closed with 4100 (none: a quarter of all connections, once half are "
                    + "in use)"
            )
        case .newConnections:
            .process("new_connections_per_second_max", "the client is closed with 4100")
        case .newConnectionsPerAddress:
            .process("new_connections_per_address_per_second_max", "the client is closed with 4100")
        case .handshakes:
            .process(
                "handshakes_max",
                "the broker aborts refused connections that are still open, then the connections "
                    + "idle longest (a second or more; 503 and Retry-After if within a request), "
                    + "then the requests that have waited longest for an answer; new connections "
                    + "wait; from seven eighths of the limit, each answer closes its connection"
            )
        case .appConnections: .app("connections_max", "the client is closed with 4004")
        case .authorizationTime:
            .app("features.authorization_timeout", "the client is closed with 4009")
        default:
            .process(
                "connections_max",
                "the client is closed with 4100 (none: the descriptor limit)"
            )
        }
    }

    private var timeRule: LimitRule {
        switch self {
        case .tlsHandshakeTime: .process("tls_handshake_timeout", "the connection is closed")
        case .requestHeadTime: .process("request_head_timeout", "the request is refused with 408")
        case .requestBodyTime: .process("request_body_timeout", "the request is refused with 408")
        case .requestIdleTime: .process("request_idle_timeout", "the connection is closed")
        case .answerTime:
            .process(
                "answer_timeout",
                "the request is refused with 503 and Retry-After; it may have been executed"
            )
        case .triggerTime:
            .process("trigger_timeout", "the trigger is refused with 503 and Retry-After")
        case .messageTime: .process("message_timeout", "the client is closed with 4100")
        default: LimitRule("clients.pong_timeout", "the client is closed with 4201")
        }
    }

    private var lengthRule: LimitRule {
        switch self {
        case .requestHeadLength:
            .process("request_head_length_max", "the request is refused with 431 or 414")
        case .requestBodyLength:
            .process("request_body_length_max", "the request is refused with 413")
        case .messageLength: .process("message_length_max", "the client is closed with 1009")
        case .messageFragments: .process("message_fragments_max", "the client is closed with 1009")
        case .channelNameLength:
            .app("channel_name_length_max", LimitRule.refusedSubscription + "; 400 for a backend")
        case .eventDataLength:
            .app(
                "event_data_length_max",
                "the trigger is refused with 413; a client event is dropped and counts as a faulty "
                    + "message"
            )
        case .userInfoLength: .app("user_info_length_max", LimitRule.refusedSubscription)
        case .triggerChannels:
            .app("trigger_channels_max", "the trigger is refused with 400")
        default: .app("batch_events_max", "the batch is refused with 400")
        }
    }

    private var rateRule: LimitRule {
        switch self {
        case .requestRate: .app("requests_per_second_max", "429 and Retry-After")
        case .triggerRate: .app("triggers_per_second_max", "429 and Retry-After")
        case .queryRate: .app("queries_per_second_max", "429 and Retry-After")
        case .terminationRate: .app("terminations_per_second_max", "429 and Retry-After")
        case .subscriptionRate:
            .app("subscriptions_per_second_max", LimitRule.refusedSubscription)
        case .clientEventRate:
            .app("client_events_per_second_max", "the event is dropped with 4301")
        default: .app("faulty_messages_per_minute_max", "the client is closed with 4100")
        }
    }

    private var recoveryRule: LimitRule {
        switch self {
        case .recoveryPositions:
            .app(
                "recovery.positions_max",
                "the broker forgets the channel that has had no subscribers longest; clients that "
                    + "resubscribe to it are notified of a gap"
            )
        case .recoverySessions:
            .app(
                "recovery.sessions_max",
                "the broker forgets the session that has been disconnected longest; its client is "
                    + "notified of a gap when it reconnects; if all sessions are connected, a "
                    + "client with a new token has no recovery, and is notified; an address with a "
                    + "quarter of all sessions replaces only its own"
            )
        case .openedStreams:
            .app(
                "recovery.opened_streams_max",
                "a subscription that would open another public channel gets "
                    + LimitRule.refusedSubscription
                    + "; once half is in use, one address gets at most a quarter"
            )
        case .sessionBytes:
            .app(
                "recovery.session_bytes_max",
                "the broker drops the positions of a disconnected session; its client is notified "
                    + "of a gap when it reconnects; once half is in use, one address gets at most "
                    + "a quarter"
            )
        case .appRetainedBytes:
            .app(
                "recovery.retained_bytes_max",
                "the broker drops the app's oldest messages; clients that missed them are notified "
                    + "of a gap"
            )
        case .unstoredBytes:
            LimitRule("recovery.unstored_bytes_max", "503 and Retry-After on stored channels")
        case .databaseBytes:
            LimitRule(
                "recovery.database_bytes_max",
                "the broker drops the oldest messages of all stored channels; sessions get another "
                    + "quarter of this limit: above it, clients with many channels are notified of "
                    + "a gap after a restart"
            )
        case .archiveReadBytes:
            .process(
                "queued_bytes_total_max",
                "further reads of replays or history from the file wait (an eighth of "
                    + "queued_bytes_total_max, at most 8 MiB)"
            )
        default:
            .process(
                "retained_bytes_total_max",
                "the broker drops the oldest messages of all apps (none: an eighth of the memory)"
            )
        }
    }

    private var quantityRule: LimitRule {
        switch self {
        case .subscriptions: .app("subscriptions_max", LimitRule.refusedSubscription)
        case .members: .app("members_max", LimitRule.refusedSubscription)
        case .watchlist:
            .app("watchlist_max", "only the first users are watched; the client gets 4302")
        case .cachedEvents: .app("cached_events_max", "the oldest cached event is dropped")
        case .idempotencyKeys: .app("idempotency_keys_max", "the oldest key is forgotten")
        case .queuedBytes: .process("queued_bytes_max", "the slow reader is closed with 4100")
        case .appQueuedBytes:
            .app(
                "queued_bytes_max",
                "from three quarters, new connections are closed with 4100; at the limit, the "
                    + "clients with the longest queues are closed with 4100"
            )
        case .queuedBytesTotal:
            .process(
                "queued_bytes_total_max",
                "the same for all apps (none: a quarter of the memory)"
            )
        case .inboundBytes:
            .process(
                "queued_bytes_total_max",
                "503 and Retry-After; a client with a partial message is closed with 4100 (a "
                    + "quarter of queued_bytes_total_max, at most 128 MiB)"
            )
        case .relayedEvents: .process("relayed_events_max", "503 and Retry-After")
        case .clusterQueuedBytes:
            LimitRule("cluster.redis.queued_bytes_max", "503 and Retry-After")
        case .webhooksInFlight: LimitRule("webhooks.in_flight_max", "further webhooks wait")
        case .webhooksQueued:
            LimitRule("webhooks.queued_max", "the oldest become dead letters")
        default: LimitRule("webhooks.queued_bytes_max", "the oldest become dead letters")
        }
    }
}
