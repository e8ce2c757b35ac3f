internal import Broker
internal import PusherProtocol

/// The keys of an app.
enum AppKeys {
    typealias Key = ConfigurationKey<AppConfiguration>

    /// All of them, in the order of the reference.
    static let all: [Key] =
        [
            Key(
                "id",
                \.id,
                .word,
                isRequired: true,
                example: "\"1\"",
                help: """
                    The ID in the paths of the HTTP API: /apps/1/events. Official libraries accept \
                    only digits.
                    """
            ),
            Key(
                "key",
                \.key,
                .word,
                isRequired: true,
                help: "The public key, which clients send when they connect."
            ),
            Key(
                "secret",
                \.secret,
                .secret,
                isRequired: true,
                example: "app-secret",
                help: """
                    The secret that signs requests, subscriptions and webhooks. Its holder can \
                    send any event. This ID, key and secret are those of the public development \
                    app, and are refused on any address but loopback.
                    """
            ),
            Key(
                "credentials",
                \.credentials,
                listOf: CredentialKeys.all,
                blank: AppConfiguration.Credential(secret: ""),
                help: """
                    Additional pairs with the same rights, for a replacement: add the new pair \
                    here ("fanfare keys secret" makes it), deploy it to all backends, then move it \
                    above. Webhooks are signed with the secret above.
                    """
            ),
            Key(
                "enabled",
                \.isEnabled,
                .yesOrNo,
                help: """
                    false: the app's connections and requests are refused, and its open \
                    connections are closed (4003).
                    """
            ),
            Key(
                "tls_only",
                \.isTLSOnly,
                .yesOrNo,
                help: """
                    true: clients without TLS are refused (4000); official clients then reconnect \
                    with TLS. Needs tls.port: TLS terminated by a proxy does not count. Backends \
                    are not affected.
                    """
            ),
            Key(
                "allowed_origins",
                \.allowedOrigins,
                listOf: .origin,
                examples: [
                    "https://example.com", "https://*.example.com", "http://localhost:3000",
                ],
                help: """
                    Origins of web pages that may connect; others are refused (4009). Only the \
                    first part of a host may be *, for all subdomains. Clients without an origin, \
                    which are not web pages, are accepted. Open connections stay. []: all origins.
                    """
            ),
        ] + limits + features + RecoveryKeys.all + [
            Key(
                "webhooks",
                \.webhooks,
                listOf: WebhookKeys.all,
                blank: WebhookConfiguration(url: ""),
                help: """
                    Endpoints of your backend that get signed requests about this app's channels. \
                    Only url is required.
                    """
            )
        ]

    private static let limits: [Key] = [
        Key(
            "connections_max",
            \.limits.connectionsMax,
            SettingKind<Int>.count("a number of connections", in: 1...100_000_000).orNone(),
            help: """
                Concurrent connections; further ones are refused with 4004. A lower value closes \
                no open connection. none: no limit per app.
                """
        ),
        Key(
            "queued_bytes_max",
            \.limits.queuedBytesMax,
            SettingKind<Int>.bytes(in: (64 << 10)...(1 << 40)).orNone(),
            help: """
                Memory of the queues of this app's slow readers. none: only \
                limits.queued_bytes_total_max applies, which all apps share.
                """
        ),
        Key(
            "subscriptions_max",
            \.limits.subscriptionsMax,
            .count("a number of channels", in: 1...10_000_000),
            help: "Channels per connection; further subscriptions are refused."
        ),
        Key(
            "event_data_length_max",
            \.limits.texts.dataLengthMax,
            eventDataLength,
            help: """
                Bytes of an event's data; longer data is refused with 413. The hosted service and \
                some official libraries accept 10 KiB.
                """
        ),
        Key(
            "event_data_rules",
            \.limits.texts.dataRules,
            listOf: DataLengthRuleKeys.all,
            blank: DataLengthRule(channelPrefix: "", lengthMax: 0),
            help: "Other limits for the channels with a prefix; the first rule that fits applies."
        ),
        Key(
            "channel_name_length_max",
            \.limits.texts.channelNameLengthMax,
            .count("a number of characters", in: 1...1_000),
            help: "Characters of a channel name. The protocol's limit is 200."
        ),
        Key(
            "trigger_channels_max",
            \.limits.texts.channelsPerTriggerMax,
            .count("a number of channels", in: 1...10_000),
            help: """
                Channels per trigger; a trigger with more is refused with 400. The official \
                service accepts 100.
                """
        ),
        Key(
            "batch_events_max",
            \.limits.texts.eventsPerBatchMax,
            .count("a number of events", in: 1...10_000),
            help: """
                Events per batch; a batch with more is refused with 400. The official service \
                accepts 10.
                """
        ),
        Key(
            "members_max",
            \.limits.membersMax,
            .count("a number of members", in: 1...1_000_000),
            help: """
                Members of a presence channel, each with any number of connections; further \
                members are refused. Every member is notified of each join and leave, and a new \
                member gets the list of all.
                """
        ),
        Key(
            "presence_notice_delay",
            \.features.presenceNoticeDelay,
            .count("a number of milliseconds", in: 0...1_000),
            help: """
                Milliseconds that join and leave notices may wait on a presence channel of more \
                than 100 members. Notices that wait share their sends, since each goes to every \
                member. A single notice does not wait, and no event overtakes a notice. 0: no \
                wait.
                """
        ),
        Key(
            "presence_grace",
            \.features.presenceGrace,
            .count("a number of seconds", in: 0...60),
            help: """
                Seconds that a user stays a member of a presence channel after the last connection \
                has left, so that the others see no leave and join when a page is reloaded. \
                Webhooks have their own 3 s. 0: a user leaves at once.
                """
        ),
        Key(
            "presence_activity_timeout",
            \.features.presenceActivityTimeout,
            .count("a number of seconds", in: 0...3_600),
            help: """
                Seconds of silence after which a client that is a member of a presence channel, or \
                signed in, gets a pusher:ping. If it has answered one before and now does not \
                within clients.pong_timeout, as a frozen page, it is closed (4201) and its user \
                leaves. 0: only WebSocket ping frames, which browsers answer for frozen pages too.
                """
        ),
        Key(
            "user_info_length_max",
            \.limits.userInfoLengthMax,
            .bytes(in: 0...(1 << 20)),
            help: "Bytes of a member's user_info as JSON; a member with more is refused."
        ),
        Key(
            "watchlist_max",
            \.limits.watchlistMax,
            .count("a number of users", in: 1...10_000),
            help: """
                Users per watchlist (features.watchlist). Of a longer list only the first ones are \
                watched, and the client gets 4302.
                """
        ),
        Key(
            "cached_events_max",
            \.limits.cachedEventsMax,
            .count("a number of events", in: 1...100_000_000),
            help: """
                Events that this app's cache channels hold, one per channel; one more replaces the \
                oldest. Each needs as much memory as its data.
                """
        ),
        Key(
            "cache_lifetime",
            \.features.cacheLifetime,
            .count("a number of seconds", in: 1...86_400),
            help: """
                Seconds that a cache channel holds its last event. The official service has 1800.
                """
        ),
        Key(
            "idempotency_keys_max",
            \.limits.idempotencyKeysMax,
            .count("a number of keys", in: 0...100_000_000),
            help: """
                Idempotency keys that the broker remembers, so that a repeated event is published \
                once. A backend sends them as idempotency_key in a trigger, or in the header \
                Idempotency-Key. One more replaces the oldest. 0: none.
                """
        ),
        Key(
            "idempotency_age",
            \.features.idempotencyAge,
            .count("a number of seconds", in: 1...86_400),
            help: "Seconds that an idempotency key is remembered."
        ),
        Key(
            "client_events_per_second_max",
            \.limits.clientEventRate,
            .rate("a number of events a second", in: 1...1_000_000),
            help: """
                Client events (client-…) per connection and second; more are dropped with 4301. \
                The protocol's limit is 10.
                """
        ),
        Key(
            "subscriptions_per_second_max",
            \.limits.subscriptionRate,
            SettingKind<Rate>.rate("a number of subscriptions a second", in: 1...1_000_000)
                .orNone(),
            help: """
                Subscriptions per connection and second, and as many at once; more are refused. \
                Official clients subscribe to all their channels at once, and retry only after a \
                reconnect: allow more than they use. none: no limit.
                """
        ),
        Key(
            "requests_per_second_max",
            \.limits.requestRates.all,
            requestRate,
            help: """
                Requests per second of all backends of this app, and as many at once; more are \
                answered with 429 and Retry-After. none: no limit.
                """
        ),
        Key(
            "triggers_per_second_max",
            \.limits.requestRates.triggers,
            requestRate,
            help: """
                The same for requests that trigger events. none: only requests_per_second_max \
                applies.
                """
        ),
        Key(
            "queries_per_second_max",
            \.limits.requestRates.queries,
            requestRate,
            help: "The same for requests that query channels and users."
        ),
        Key(
            "terminations_per_second_max",
            \.limits.requestRates.terminations,
            requestRate,
            help: "The same for requests that close a user's connections."
        ),
        Key(
            "faulty_messages_per_minute_max",
            \.limits.faultsPerMinuteMax,
            .count("a number of messages a minute", in: 1...1_000_000),
            help: """
                Messages that break the protocol, and refused subscriptions, per connection and \
                minute; one more closes the connection (4100). Refused signatures are counted \
                separately: after as many in a minute, each further one delays the connection's \
                next message by 50 ms.
                """
        ),
    ]

    fileprivate static let eventDataLength = SettingKind<Int>.bytes(in: 1...(16 << 20))

    private static let requestRate =
        SettingKind<Rate>.rate("a number of requests a second", in: 1...100_000_000).orNone()

    private static let features: [Key] = [
        Key(
            "features.client_events",
            \.features.clientEvents,
            .yesOrNo,
            help: """
                true: clients may send events (client-…) to the other subscribers of private and \
                presence channels that they have joined, without your backend. The default of your \
                own apps is false, as on the official service; the development app has true.
                """
        ),
        Key(
            "features.subscription_count",
            \.features.subscriptionCount,
            .yesOrNo,
            help: """
                true: subscribers get a channel's subscription count when it changes, at most \
                every 5 s above 100 subscribers. Backends can always query it.
                """
        ),
        Key(
            "features.users",
            \.features.users,
            .yesOrNo,
            help: "false: sign-ins are refused with an error."
        ),
        Key(
            "features.watchlist",
            \.features.watchlist,
            .yesOrNo,
            help: """
                true: a user who signs in with a watchlist is notified when its users go online \
                and offline. Needs features.users.
                """
        ),
        Key(
            "features.authorized_connections",
            \.features.authorizedConnections,
            .yesOrNo,
            help: """
                true: a connection must sign in, or subscribe to a private or presence channel, or \
                it is closed (4009). Until then it does not count towards connections_max. Use it \
                against clients that have only the key.
                """
        ),
        Key(
            "features.authorization_timeout",
            \.features.authorizationTimeout,
            .count("a number of seconds", in: 1...3_600),
            help: "Seconds that a connection has for this."
        ),
    ]
}

/// The keys of a further credential.
enum CredentialKeys {
    typealias Key = ConfigurationKey<AppConfiguration.Credential>

    static let all: [Key] = [
        Key(
            "key",
            \.key,
            SettingKind<String>.word.orNone(),
            example: "another-key",
            help: "The key. none: the secret is an additional one of the key above."
        ),
        Key(
            "secret",
            \.secret,
            .secret,
            isRequired: true,
            example: "another-secret",
            help: "Its secret."
        ),
    ]
}

/// The keys of a rule.
enum DataLengthRuleKeys {
    typealias Key = ConfigurationKey<DataLengthRule>

    static let all: [Key] = [
        Key(
            "channel_prefix",
            \.channelPrefix,
            .channelNamePart,
            isRequired: true,
            example: "private-reports-",
            help: "The beginning of the channels' names."
        ),
        Key(
            "length_max",
            \.lengthMax,
            AppKeys.eventDataLength,
            isRequired: true,
            example: "500 KiB",
            help: "Bytes of an event's data."
        ),
    ]
}

/// The keys of an endpoint.
enum WebhookKeys {
    typealias Key = ConfigurationKey<WebhookConfiguration>

    static let all: [Key] = [
        Key(
            "url",
            \.url,
            .endpoint,
            isRequired: true,
            example: "https://example.com/webhooks",
            help: "The endpoint, with https:// or http://."
        ),
        Key(
            "events",
            \.events,
            listOf: .choice,
            help: """
                The events to send. Also: cache_miss and subscription_count, which some libraries \
                do not know.
                """
        ),
        Key(
            "channel_prefix",
            \.channelPrefix,
            .channelNamePart,
            help: "Only channels whose names begin like this. none: all."
        ),
        Key(
            "channel_suffix",
            \.channelSuffix,
            .channelNamePart,
            help: "Only channels whose names end like this. none: all."
        ),
        Key(
            "headers",
            \.headers,
            names: .fieldName,
            values: .fieldValue,
            example: "{X-Example: text}",
            help: "Additional headers of each request, for example for a proxy."
        ),
        Key(
            "batching",
            \.isBatching,
            .yesOrNo,
            help: "true: events at almost the same time share a request."
        ),
    ]
}
