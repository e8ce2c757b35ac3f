internal import Logging
internal import Net

extension ConfigurationKey<Configuration> {
    /// The top-level keys, in the order of the example file.
    static let all: [Self] =
        [
            Self("listen.host", \.hosts, oneOrMore: .address),
            Self("listen.port", \.port, SettingKind<UInt16>.port.orNone()),
            Self(
                "listen.unix_socket",
                \.unixSocket,
                // sockaddr_un has room for 108 bytes, including the terminating zero (unix(7)).
                SettingKind<String>.path("the path of a socket to make", lengthMax: 107).orNone()
            ),
            Self("listen.path_prefix", \.pathPrefix, .pathPrefix),
            Self("listen.trusted_proxies", \.admission.trustedProxies, listOf: .addressRange),
            Self("tls.port", \.tlsPort, SettingKind<UInt16>.port.orNone()),
            Self(
                "tls.certificates",
                \.certificates,
                listOf: ConfigurationKey<CertificateFiles>.all,
                blank: CertificateFiles(certificate: "", key: "")
            ),
            Self("loops", \.loops, .count("a number of threads", in: 0...1_024)),
            Self(
                "apps",
                \.apps,
                listOf: ConfigurationKey<AppConfiguration>.all,
                blank: AppConfiguration(id: "", key: "", secret: "")
            ),
            Self(
                "clients.activity_timeout",
                \.activityTimeout,
                .count("a number of seconds", in: 1...86_400)
            ),
            Self(
                "clients.pong_timeout",
                \.pongTimeout,
                .count("a number of seconds", in: 1...3_600)
            ),
            Self("clients.require_protocol_version", \.requiresProtocolVersion, .yesOrNo),
        ] + admission + sizes + [
            Self("compression.enabled", \.compression.isEnabled, .yesOrNo),
            Self("compression.threshold", \.compression.threshold, .bytes(in: 0...(16 << 20))),
            Self(
                "webhooks.database",
                \.webhooks.database,
                SettingKind<String>.path("the path of a file to make").orNone()
            ),
            Self(
                "webhooks.trust",
                \.webhooks.trust,
                SettingKind<String>.path("the path of a PEM file").orNone()
            ),
            Self(
                "webhooks.in_flight_max",
                \.webhooks.inFlightMax,
                .count("a number of requests", in: 1...1_000)
            ),
            Self(
                "webhooks.queued_max",
                \.webhooks.queuedMax,
                .count("a number of webhooks", in: 1...10_000_000)
            ),
            Self(
                "webhooks.queued_bytes_max",
                \.webhooks.queuedBytesMax,
                .bytes(in: (64 << 10)...(16 << 30))
            ),
        ] + connectionRecords + archive + cluster + [
            Self("metrics.host", \.metrics.hosts, oneOrMore: .address),
            Self("metrics.port", \.metrics.port, SettingKind<UInt16>.port.orNone()),
        ] + console + [
            Self(
                "shutdown.deadline",
                \.shutdown.deadline,
                .count("a number of seconds", in: 0...3_600)
            ),
            Self(
                "shutdown.pace",
                \.shutdown.pace,
                .count("a number of clients a second", in: 1...1_000_000)
            ),
            Self(
                "shutdown.notice",
                \.shutdown.notice,
                .count("a number of seconds", in: 0...3_600)
            ),
            Self("log.level", \.log.level, .choice),
            Self("log.format", \.log.format, .choice),
        ]
}

extension ConfigurationKey<Configuration> {
    /// The limits of connections before they are authenticated.
    private static let admission: [Self] = [
        Self("limits.connections_max", \.connectionsMax, connections.orNone()),
        Self(
            "limits.connections_per_address_max",
            \.admission.connectionsPerAddressMax,
            connections.orNone()
        ),
        Self(
            "limits.new_connections_per_second_max",
            \.admission.newConnectionsPerSecondMax,
            connectionsPerSecond.orNone()
        ),
        Self(
            "limits.new_connections_per_address_per_second_max",
            \.admission.newConnectionsPerAddressPerSecondMax,
            connectionsPerSecond.orNone()
        ),
        Self(
            "limits.handshakes_max",
            \.admission.handshakesMax,
            .count("a number of connections", in: 16...10_000_000)
        ),
        Self("limits.tls_handshake_timeout", \.admission.tlsHandshakeTimeout, seconds),
        Self("limits.request_head_timeout", \.admission.requestHeadTimeout, seconds),
        Self("limits.request_body_timeout", \.admission.requestBodyTimeout, seconds),
        Self("limits.request_idle_timeout", \.admission.requestIdleTimeout, seconds),
        Self("limits.answer_timeout", \.admission.answerTimeout, seconds),
    ]

    /// The limits of lengths and queues.
    private static let sizes: [Self] = [
        Self(
            "limits.request_head_length_max",
            \.requestHeadLengthMax,
            .bytes(in: 1_024...(1 << 20))
        ),
        Self(
            "limits.request_body_length_max",
            \.requestBodyLengthMax,
            .bytes(in: 1_024...(256 << 20))
        ),
        Self("limits.message_length_max", \.messageLengthMax, .bytes(in: 1_024...(16 << 20))),
        Self(
            "limits.message_fragments_max",
            \.messageFragmentsMax,
            .count("a number of frames", in: 1...1_000_000)
        ),
        Self("limits.message_timeout", \.messageTimeout, seconds),
        Self("limits.queued_bytes_max", \.queuedBytesMax, .bytes(in: (64 << 10)...(1 << 30))),
        Self(
            "limits.queued_bytes_total_max",
            \.queuedBytesTotalMax,
            SettingKind<Int>.bytes(in: (1 << 20)...(1 << 40)).orNone()
        ),
        Self(
            "limits.retained_bytes_total_max",
            \.retainedBytesTotalMax,
            SettingKind<Int>.bytes(in: (1 << 20)...(1 << 40)).orNone()
        ),
        Self(
            "limits.relayed_events_max",
            \.relayedEventsMax,
            .count("a number of events", in: 1...100_000_000)
        ),
        Self("limits.trigger_timeout", \.triggerTimeout, seconds),
    ]

    private static let seconds = SettingKind<Int>.count("a number of seconds", in: 1...3_600)
    private static let connections = SettingKind<Int>.count(
        "a number of connections",
        in: 1...100_000_000
    )
    private static let connectionsPerSecond = SettingKind<Int>.count(
        "a number of connections a second",
        in: 1...1_000_000
    )
}

extension ConfigurationKey<Configuration> {
    /// The archive of stored channels, and the spool.
    private static let archive: [Self] = [
        Self(
            "recovery.database",
            \.recovery.database,
            SettingKind<String>.path("the path of a file to make").orNone()
        ),
        Self("recovery.sync", \.recovery.sync, .choice),
        Self("recovery.when_failing", \.recovery.whenFailing, .choice),
        Self(
            "recovery.unstored_bytes_max",
            \.recovery.unstoredBytesMax,
            .bytes(in: (64 << 10)...(16 << 30))
        ),
        Self(
            "recovery.database_bytes_max",
            \.recovery.databaseBytesMax,
            .bytes(in: (1 << 20)...(1 << 40))
        ),
        Self(
            "recovery.spool",
            \.recovery.spool,
            SettingKind<String>.path("the path of a file to make").orNone()
        ),
    ]
}

extension ConfigurationKey<CertificateFiles> {
    /// The keys of a certificate.
    static let all: [Self] = [
        Self("certificate", \.certificate, .path("the path of a PEM file"), isRequired: true),
        Self("key", \.key, .path("the path of a PEM file"), isRequired: true),
    ]
}

extension Configuration {
    /// The keys whose changes take effect while the broker runs; all others do at the next start.
    private static let reloadable: Set<String> = [
        "apps", "log.level", "shutdown.deadline", "shutdown.notice", "shutdown.pace",
        "tls.certificates",
    ]

    /// Returns the changed keys that take effect at the next start.
    func restartKeys(comparedWith other: Configuration) -> [String] {
        ConfigurationKey<Configuration>.all
            .filter { !Self.reloadable.contains($0.path) && !$0.isSame(self, other) }
            .map(\.path)
    }
}
