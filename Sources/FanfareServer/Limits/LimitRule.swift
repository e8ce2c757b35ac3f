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
                "the client is closed with 4100 (none: a quarter, once half of all connections are taken)"
            )
        case .newConnections:
            .process("new_connections_per_second_max", "the client is closed with 4100")
        case .newConnectionsPerAddress:
            .process("new_connections_per_address_per_second_max", "the client is closed with 4100")
        case .handshakes:
            .process(
                "handshakes_max",
                "refused clients that have not closed are closed at once, then the connections idle "
                    + "longest, for at least a second, with 503 and Retry-After in a request, then those "
                    + "whose request has waited longest for its answer; new connections wait; from seven "
                    + "eighths on, answers end their connections"
            )
        case .appConnections: .app("connections_max", "the client is closed with 4004")
        case .authorizationTime:
            .app("features.authorization_timeout", "the client is closed with 4009")
        default:
            .process(
                "connections_max",
                "the client is closed with 4100 (none: as many as descriptors)"
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
            .process("request_head_length_max", "the request is refused with 431, or 414")
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
                "the channel that has been without subscribers longest is forgotten: who comes back to it "
                    + "is told of a gap"
            )
        case .recoverySessions:
            .app(
                "recovery.sessions_max",
                "the session whose client has been away longest is forgotten: who comes back with its token is told "
                    + "of a gap; with none to forget, a new token has no recovery, and is told; clients of an "
                    + "address that has a quarter of all forget no other's"
            )
        case .openedStreams:
            .app(
                "recovery.opened_streams_max",
                "a subscription that would begin the stream of a public channel gets "
                    + LimitRule.refusedSubscription
                    + "; once half is taken, one address gets a quarter"
            )
        case .sessionBytes:
            .app(
                "recovery.session_bytes_max",
                "a session without a connection is kept without its positions: who comes back with its token is told "
                    + "of a gap; once half is taken, one address gets a quarter"
            )
        case .appRetainedBytes:
            .app(
                "recovery.retained_bytes_max",
                "the app's oldest messages are no longer kept: who missed them is told of a gap"
            )
        case .unstoredBytes:
            LimitRule("recovery.unstored_bytes_max", "503 and Retry-After on stored channels")
        case .databaseBytes:
            LimitRule(
                "recovery.database_bytes_max",
                "the oldest messages of all stored channels are no longer kept"
                    + "; a quarter of it again is for sessions: beyond it, a token with many channels is told of a gap "
                    + "after a restart"
            )
        case .archiveReadBytes:
            .process(
                "queued_bytes_total_max",
                "the replay or history from the file waits until others are queued (an eighth of "
                    + "queued_bytes_total_max, at most 8 MiB)"
            )
        default:
            .process(
                "retained_bytes_total_max",
                "the oldest messages of all apps are no longer kept (none: an eighth of the memory)"
            )
        }
    }

    private var quantityRule: LimitRule {
        switch self {
        case .subscriptions: .app("subscriptions_max", LimitRule.refusedSubscription)
        case .members: .app("members_max", LimitRule.refusedSubscription)
        case .watchlist: .app("watchlist_max", "the first are watched; the client gets 4302")
        case .cachedEvents: .app("cached_events_max", "the oldest is dropped")
        case .idempotencyKeys: .app("idempotency_keys_max", "the oldest is forgotten")
        case .queuedBytes: .process("queued_bytes_max", "the slow reader is closed with 4100")
        case .appQueuedBytes:
            .app(
                "queued_bytes_max",
                "from three quarters, new connections are closed with 4100; at the limit, the "
                    + "longest queues are closed with 4100"
            )
        case .queuedBytesTotal:
            .process(
                "queued_bytes_total_max",
                "the same for all apps (none: a quarter of the memory)"
            )
        case .inboundBytes:
            .process(
                "queued_bytes_total_max",
                "503 and Retry-After; a client with a partial message is closed with 4100 (a quarter of "
                    + "queued_bytes_total_max, at most 128 MiB)"
            )
        case .relayedEvents: .process("relayed_events_max", "503 and Retry-After")
        case .clusterQueuedBytes:
            LimitRule("cluster.redis.queued_bytes_max", "503 and Retry-After")
        case .webhooksInFlight: LimitRule("webhooks.in_flight_max", "the webhook waits")
        case .webhooksQueued:
            LimitRule("webhooks.queued_max", "the oldest become dead letters")
        default: LimitRule("webhooks.queued_bytes_max", "the oldest become dead letters")
        }
    }
}
