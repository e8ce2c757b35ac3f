import Broker
internal import Logging
internal import Net

/// The top-level keys.
enum ConfigurationKeys {
    typealias Key = ConfigurationKey<Configuration>

    /// All of them, in the order of the reference.
    static let all: [Key] =
        [
            Key(
                "listen.host",
                \.hosts,
                oneOrMore: .address,
                help: """
                    The IP address to listen on: 127.0.0.1 or ::1 for this machine only, 0.0.0.0 \
                    or :: for every network. The development app below is refused on any address \
                    but loopback. For several addresses, write a list: [10.0.0.7, "::1"]; in a \
                    variable or option, separate them by commas: 10.0.0.7,::1.
                    """
            ),
            Key(
                "listen.port",
                \.port,
                SettingKind<UInt16>.port.orNone(),
                help: "The port of ws:// and http://. 0: any free port. none: no plain listener."
            ),
            Key(
                "listen.unix_socket",
                \.unixSocket,
                // sockaddr_un has room for 108 bytes, including the terminating zero (unix(7)).
                SettingKind<String>.path("the path of a socket to make", lengthMax: 107).orNone(),
                help: """
                    The path of an additional Unix-domain socket, for a proxy on this machine: \
                    /run/fanfare/fanfare.sock. It has at most 107 bytes. none: no socket.
                    """
            ),
            Key(
                "listen.path_prefix",
                \.pathPrefix,
                .pathPrefix,
                help: """
                    The prefix of all paths, such as /realtime behind a proxy that keeps its \
                    prefix. none: the protocol's paths, /app/KEY and /apps/ID/….
                    """
            ),
            Key(
                "listen.trusted_proxies",
                \.admission.trustedProxies,
                listOf: .addressRange,
                help: """
                    The addresses of trusted proxies, or ranges such as 10.0.0.0/8. Limits per \
                    address count their clients by X-Forwarded-For. Without this header such a \
                    connection has no limit per address; the same holds for a Unix-domain socket. \
                    All other connections count by their own address. Do not list a network with \
                    untrusted machines: they could claim any address.
                    """
            ),
            Key(
                "tls.port",
                \.tlsPort,
                SettingKind<UInt16>.port.orNone(),
                help: """
                    The port of wss:// and https://, in addition to the plain one. 0: any free \
                    port. none: no TLS.
                    """
            ),
            Key(
                "tls.certificates",
                \.certificates,
                listOf: CertificateKeys.all,
                blank: CertificateFiles(certificate: "", key: ""),
                isReloaded: true,
                help: """
                    The certificates, selected by the server name that a client requests; the \
                    first is the default. A TLS port needs at least one, and certificates need a \
                    TLS port. "fanfare keys certificate" makes one for development. A renewed file \
                    is loaded within four seconds for new connections; open connections stay.
                    """
            ),
            Key(
                "loops",
                \.loops,
                .count("a number of threads", in: 0...1_024),
                help: "Threads that serve connections. 0: one per core; more do not help."
            ),
            Key(
                "apps",
                \.apps,
                listOf: AppKeys.all,
                blank: AppConfiguration(id: "", key: "", secret: ""),
                isReloaded: true,
                help: """
                    The apps that clients and backends may use, at least one. "fanfare keys app" \
                    makes an ID, a key and a secret. Removing an app closes its connections \
                    (4001).
                    """
            ),
            Key(
                "clients.activity_timeout",
                \.activityTimeout,
                .count("a number of seconds", in: 1...86_400),
                help: """
                    Seconds of silence after which a client should check the connection; the \
                    broker checks after 1.25 times as many. A lower value detects a lost network \
                    sooner and costs traffic.
                    """
            ),
            Key(
                "clients.pong_timeout",
                \.pongTimeout,
                .count("a number of seconds", in: 1...3_600),
                help: "Seconds to answer a ping; then the connection is closed (4201)."
            ),
            Key(
                "clients.require_protocol_version",
                \.requiresProtocolVersion,
                .yesOrNo,
                help: """
                    true: clients that name no protocol version are refused (4008). false: they \
                    get the current version, 7.
                    """
            ),
        ] + LimitKeys.all + [
            Key(
                "compression.enabled",
                \.compression.isEnabled,
                .yesOrNo,
                help: """
                    true: messages are compressed (permessage-deflate, RFC 7692) for clients that \
                    offer it. This saves traffic, and costs CPU time and about 300 KiB of memory \
                    per such connection.
                    """
            ),
            Key(
                "compression.threshold",
                \.compression.threshold,
                .bytes(in: 0...(16 << 20)),
                help: "Bytes of the shortest message that is compressed."
            ),
            Key(
                "webhooks.database",
                \.webhooks.database,
                SettingKind<String>.path("the path of a file to make").orNone(),
                help: """
                    The file of waiting and undelivered webhooks, such as \
                    /var/lib/fanfare/webhooks.sqlite. "fanfare webhooks" lists and replays the \
                    undelivered ones. The broker must be able to write to its folder. A file \
                    belongs to one broker, and a second one does not start; the lock is a file \
                    beside it that ends in -lock. Stop the broker before you move or delete the \
                    file; otherwise it is recreated. none: webhooks wait in memory, and a restart \
                    loses them.
                    """
            ),
            Key(
                "webhooks.trust",
                \.webhooks.trust,
                SettingKind<String>.path("the path of a PEM file").orNone(),
                help: """
                    A PEM file of certificates to trust for endpoints besides the system's, for a \
                    private authority. none: only the system's.
                    """
            ),
            Key(
                "webhooks.in_flight_max",
                \.webhooks.inFlightMax,
                .count("a number of requests", in: 1...1_000),
                help: "Concurrent requests to one endpoint; further ones wait."
            ),
            Key(
                "webhooks.queued_max",
                \.webhooks.queuedMax,
                .count("a number of webhooks", in: 1...10_000_000),
                help: """
                    Webhooks queued for one endpoint. Beyond it the oldest become dead letters, \
                    which "fanfare webhooks" lists and replays.
                    """
            ),
            Key(
                "webhooks.queued_bytes_max",
                \.webhooks.queuedBytesMax,
                .bytes(in: (64 << 10)...(16 << 30)),
                help: """
                    Bytes of webhooks queued for one endpoint. Beyond it the oldest become dead \
                    letters, too.
                    """
            ),
        ] + connectionRecords + archive + ClusterKeys.all + [
            Key(
                "metrics.host",
                \.metrics.hosts,
                oneOrMore: .address,
                help: """
                    The address of the metrics, http://HOST:PORT/metrics in Prometheus' text \
                    format. They have the broker's load, the hits of each limit \
                    (fanfare_limit_hits_total; "fanfare check --limits" lists the limits), and \
                    what was dropped with the queues of slow readers \
                    (fanfare_queues_dropped_total). They need no authentication: use an address of \
                    a private network, or a list of them.
                    """
            ),
            Key(
                "metrics.port",
                \.metrics.port,
                SettingKind<UInt16>.port.orNone(),
                help: "The port of the metrics. 0: any free port. none: no metrics."
            ),
        ] + ConsoleKeys.all + [
            Key(
                "shutdown.deadline",
                \.shutdown.deadline,
                .count("a number of seconds", in: 0...3_600),
                isReloaded: true,
                help: """
                    Seconds for the whole stop; then everything that is left is dropped, except \
                    webhooks in their file.
                    """
            ),
            Key(
                "shutdown.pace",
                \.shutdown.pace,
                .count("a number of clients a second", in: 1...1_000_000),
                isReloaded: true,
                help: """
                    Clients closed per second, more if the deadline requires it. They reconnect at \
                    once, to the next broker: choose what it can accept.
                    """
            ),
            Key(
                "shutdown.notice",
                \.shutdown.notice,
                .count("a number of seconds", in: 0...3_600),
                isReloaded: true,
                help: """
                    Seconds of the deadline in which GET /health answers 503 while clients still \
                    connect and stay, so that load balancers can react. 0: the listeners close at \
                    once.
                    """
            ),
            Key(
                "log.level",
                \.log.level,
                .choice,
                isReloaded: true,
                help: """
                    The lowest level to log. info has refusals: the client, the reason and the \
                    remedy. debug also has connections, subscriptions and events. trace has every \
                    message. Secrets and signatures are left out.
                    """
            ),
            Key(
                "log.format",
                \.log.format,
                .choice,
                help: """
                    text for people, json for programs (one object per line), auto for text on a \
                    terminal and JSON otherwise. The log goes to standard error.
                    """
            ),
        ]

    /// The schema of a whole configuration.
    static let schema = ConfigurationSchema.of(all)

    /// The paths of all keys, with `N` for a position in a list of sections.
    static let paths = schema.patterns.map { pattern in
        let isOpen = pattern.hasSuffix(".N") || pattern.hasSuffix(".*")
        return isOpen ? String(pattern.dropLast(2)) : pattern
    }

    /// The keys of the connection records.
    private static let connectionRecords: [Key] = [
        Key(
            "recovery.connection_records",
            \.connectionRecords.scope,
            .choice,
            help: """
                The connections for which the broker records the serials that they got, for \
                "fanfare why". tracked: those that track their position on a channel. all: those \
                with a subscription.
                """
        ),
        Key(
            "recovery.connection_records_max",
            \.connectionRecords.closedMax,
            .count("a number of connections", in: 0...10_000_000),
            help: "Closed connections that are recorded; one more replaces the oldest."
        ),
    ]

    /// The archive of stored channels, and the spool.
    private static let archive: [Key] = [
        Key(
            "recovery.database",
            \.recovery.database,
            SettingKind<String>.path("the path of a file to make").orNone(),
            help: """
                The SQLite file of the channels with store: sqlite, and of the sessions of stock \
                clients with a token. Its folder must exist, and each broker needs its own file. \
                The file beside it that ends in -mark belongs to it: move both together. Delete \
                the file when you go back to none. none: no rule may have store: sqlite.
                """
        ),
        Key(
            "recovery.sync",
            \.recovery.sync,
            .choice,
            help: """
                process: events survive the end of the process in any way; a loss of power may \
                take the last ones, and clients are notified of a gap. power: an event is on the \
                disk before anyone gets it, which is slower. A trigger with durable gets this for \
                its own event.
                """
        ),
        Key(
            "recovery.when_failing",
            \.recovery.whenFailing,
            .choice,
            help: """
                refuse: while the file cannot be written, events of these channels are refused \
                with 503, after five seconds. memory: they continue in memory, and clients that \
                reconnect later are notified of a gap.
                """
        ),
        Key(
            "recovery.unstored_bytes_max",
            \.recovery.unstoredBytesMax,
            .bytes(in: (64 << 10)...(16 << 30)),
            help: """
                Bytes of events that wait for the file; beyond it, events of these channels are \
                refused with 503.
                """
        ),
        Key(
            "recovery.database_bytes_max",
            \.recovery.databaseBytesMax,
            .bytes(in: (1 << 20)...(1 << 40)),
            help: """
                Bytes of the file in use, without sessions; beyond it the oldest messages of all \
                channels are deleted. Sessions may use a quarter of it in addition.
                """
        ),
        Key(
            "recovery.spool",
            \.recovery.spool,
            SettingKind<String>.path("the path of a file to make").orNone(),
            help: """
                The file in which a stop (SIGTERM, SIGINT) saves what is in memory; the next start \
                loads and deletes it. Without a database it also has the sessions of stock \
                clients. If you run without this key for a while, delete the file before you set \
                the key again. none: a restart loses the channels in memory, and clients are \
                notified.
                """
        ),
    ]
}

/// The keys of a certificate.
enum CertificateKeys {
    typealias Key = ConfigurationKey<CertificateFiles>

    static let all: [Key] = [
        Key(
            "certificate",
            \.certificate,
            .path("the path of a PEM file"),
            isRequired: true,
            example: "/etc/fanfare/tls/fullchain.pem",
            help: "A PEM file: the server's certificate, then the rest of its chain."
        ),
        Key(
            "key",
            \.key,
            .path("the path of a PEM file"),
            isRequired: true,
            example: "/etc/fanfare/tls/privkey.pem",
            help: "A PEM file of its private key."
        ),
    ]
}
