extension ConfigurationKey<AppConfiguration> {
    /// The keys of an app, in the order of the example file.
    static let all: [Self] =
        [
            Self("id", \.id, .word, isRequired: true),
            Self("key", \.key, .word, isRequired: true),
            Self("secret", \.secret, .secret, isRequired: true),
            Self(
                "credentials",
                \.credentials,
                listOf: ConfigurationKey<AppConfiguration.Credential>.all,
                blank: AppConfiguration.Credential(secret: "")
            ),
            Self("enabled", \.isEnabled, .yesOrNo),
            Self("tls_only", \.isTLSOnly, .yesOrNo),
            Self("allowed_origins", \.allowedOrigins, listOf: .origin),
        ] + limits + features + recovery + [
            Self(
                "webhooks",
                \.webhooks,
                listOf: ConfigurationKey<WebhookConfiguration>.all,
                blank: WebhookConfiguration(url: "")
            )
        ]

    private static let limits: [Self] = [
        Self(
            "connections_max",
            \.connectionsMax,
            SettingKind<Int>.count("a number of connections", in: 1...100_000_000).orNone()
        ),
        Self(
            "queued_bytes_max",
            \.queuedBytesMax,
            SettingKind<Int>.bytes(in: (64 << 10)...(1 << 40)).orNone()
        ),
        Self(
            "subscriptions_max",
            \.subscriptionsMax,
            .count("a number of channels", in: 1...10_000_000)
        ),
        Self("event_data_length_max", \.eventDataLengthMax, eventDataLength),
        Self(
            "event_data_rules",
            \.eventDataRules,
            listOf: ConfigurationKey<AppConfiguration.EventDataRule>.all,
            blank: AppConfiguration.EventDataRule(channelPrefix: "", lengthMax: 0)
        ),
        Self(
            "channel_name_length_max",
            \.channelNameLengthMax,
            .count("a number of characters", in: 1...1_000)
        ),
        Self(
            "trigger_channels_max",
            \.triggerChannelsMax,
            .count("a number of channels", in: 1...10_000)
        ),
        Self("batch_events_max", \.batchEventsMax, .count("a number of events", in: 1...10_000)),
        Self("members_max", \.membersMax, .count("a number of members", in: 1...1_000_000)),
        Self(
            "presence_notice_delay",
            \.presenceNoticeDelay,
            .count("a number of milliseconds", in: 0...1_000)
        ),
        Self("user_info_length_max", \.userInfoLengthMax, .bytes(in: 0...(1 << 20))),
        Self("watchlist_max", \.watchlistMax, .count("a number of users", in: 1...10_000)),
        Self(
            "cached_events_max",
            \.cachedEventsMax,
            .count("a number of events", in: 1...100_000_000)
        ),
        Self("cache_lifetime", \.cacheLifetime, .count("a number of seconds", in: 1...86_400)),
        Self(
            "idempotency_keys_max",
            \.idempotencyKeysMax,
            .count("a number of keys", in: 0...100_000_000)
        ),
        Self("idempotency_age", \.idempotencyAge, .count("a number of seconds", in: 1...86_400)),
        Self(
            "client_events_per_second_max",
            \.clientEventsPerSecondMax,
            .count("a number of events a second", in: 1...1_000_000)
        ),
        Self(
            "subscriptions_per_second_max",
            \.subscriptionsPerSecondMax,
            SettingKind<Int>.count("a number of subscriptions a second", in: 1...1_000_000)
                .orNone()
        ),
        Self(
            "requests_per_second_max",
            \.requestsPerSecondMax,
            requestRate
        ),
        Self("triggers_per_second_max", \.triggersPerSecondMax, requestRate),
        Self("queries_per_second_max", \.queriesPerSecondMax, requestRate),
        Self("terminations_per_second_max", \.terminationsPerSecondMax, requestRate),
        Self(
            "faulty_messages_per_minute_max",
            \.faultyMessagesPerMinuteMax,
            .count("a number of messages a minute", in: 1...1_000_000)
        ),
    ]

    fileprivate static let eventDataLength = SettingKind<Int>.bytes(in: 1...(16 << 20))

    private static let requestRate =
        SettingKind<Int>.count("a number of requests a second", in: 1...100_000_000).orNone()

    private static let features: [Self] = [
        Self("features.client_events", \.features.clientEvents, .yesOrNo),
        Self("features.subscription_count", \.features.subscriptionCount, .yesOrNo),
        Self("features.users", \.features.users, .yesOrNo),
        Self("features.watchlist", \.features.watchlist, .yesOrNo),
        Self("features.authorized_connections", \.features.authorizedConnections, .yesOrNo),
        Self(
            "features.authorization_timeout",
            \.features.authorizationTimeout,
            .count("a number of seconds", in: 1...3_600)
        ),
    ]
}

extension ConfigurationKey<AppConfiguration.Credential> {
    /// The keys of a further credential.
    static let all: [Self] = [
        Self("key", \.key, SettingKind<String>.word.orNone()),
        Self("secret", \.secret, .secret, isRequired: true),
    ]
}

extension ConfigurationKey<AppConfiguration.EventDataRule> {
    /// The keys of a rule.
    static let all: [Self] = [
        Self("channel_prefix", \.channelPrefix, .channelNamePart, isRequired: true),
        Self(
            "length_max",
            \.lengthMax,
            ConfigurationKey<AppConfiguration>.eventDataLength,
            isRequired: true
        ),
    ]
}

extension ConfigurationKey<WebhookConfiguration> {
    /// The keys of an endpoint.
    static let all: [Self] = [
        Self("url", \.url, .endpoint, isRequired: true),
        Self("events", \.events, listOf: .choice),
        Self("channel_prefix", \.channelPrefix, .channelNamePart),
        Self("channel_suffix", \.channelSuffix, .channelNamePart),
        Self("headers", \.headers, names: .fieldName, values: .fieldValue),
        Self("batching", \.isBatching, .yesOrNo),
    ]
}
