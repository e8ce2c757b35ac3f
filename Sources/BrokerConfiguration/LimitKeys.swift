import Broker
internal import HTTP1
internal import HTTPServer
internal import Net
internal import WebSocket

/// The keys of the limits that all apps share.
enum LimitKeys {
    typealias Key = ConfigurationKey<Configuration>

    static let all: [Key] = [
        // Connections before they are authenticated.
        Key(
            "limits.connections_max",
            \.connectionsMax,
            connections.orNone(),
            help: """
                Connections of the process; further ones are refused with 4100, and the clients \
                retry later. none: the limit of open descriptors ("ulimit -n").
                """
        ),
        Key(
            "limits.connections_per_address_max",
            \.admission.connectionsPerAddressMax,
            connections.orNone(),
            help: """
                Connections per address, which is an IPv4 address or an IPv6 /64; further ones are \
                refused with 4100. 1000 is enough for clients that connect directly; for others \
                see listen.trusted_proxies. none: no limit until half of all connections are \
                taken, since many people may share an address; then one address gets at most a \
                quarter of all.
                """
        ),
        Key(
            "limits.new_connections_per_second_max",
            \.admission.newConnectionsPerSecondMax,
            connectionsPerSecond.orNone(),
            help: """
                New connections per second, and as many at once; more are refused with 4100. They \
                never delay connected clients, however many they are. none: no limit.
                """
        ),
        Key(
            "limits.new_connections_per_address_per_second_max",
            \.admission.newConnectionsPerAddressPerSecondMax,
            connectionsPerSecond.orNone(),
            help: "The same per address."
        ),
        Key(
            "limits.handshakes_max",
            \.admission.handshakesMax,
            .count("a number of connections", in: 16...10_000_000),
            help: """
                Connections in a TLS handshake, in an HTTP request or between two requests. \
                Refused clients that have not closed count for a second. At the limit, refused \
                clients are closed at once; then the connections that have been idle longest, for \
                at least a second. New connections wait. Each loop has its share.
                """
        ),
        Key(
            "limits.tls_handshake_timeout",
            \.streamLimits.handshakeTimeout,
            seconds,
            help: "Seconds for a TLS handshake; then the connection is closed."
        ),
        Key(
            "limits.request_head_timeout",
            \.httpTimeouts.head,
            seconds,
            help: """
                Seconds from the first byte of a request to the end of its head; then it is \
                refused with 408.
                """
        ),
        Key(
            "limits.request_body_timeout",
            \.httpTimeouts.body,
            seconds,
            help: """
                Seconds from the end of the head to the end of the body; then the request is \
                refused with 408.
                """
        ),
        Key(
            "limits.request_idle_timeout",
            \.httpTimeouts.idle,
            seconds,
            help: """
                Seconds without a request, before the first one and between two; then the \
                connection is closed.
                """
        ),
        Key(
            "limits.answer_timeout",
            \.httpTimeouts.answer,
            seconds,
            help: """
                Seconds until a complete request is answered; then it is refused with 503, and may \
                have been executed. Queries that wait for Redis are refused earlier, after \
                cluster.redis.patience.
                """
        ),
        // Lengths and queues.
        Key(
            "limits.request_head_length_max",
            \.httpLimits.fieldBytesMax,
            .bytes(in: 1_024...(1 << 20)),
            help: """
                Bytes of an HTTP request's headers; longer ones are refused with 431, a request \
                line above 8 KiB with 414.
                """
        ),
        Key(
            "limits.request_body_length_max",
            \.httpLimits.bodyLengthMax,
            .bytes(in: 1_024...(256 << 20)),
            help: "Bytes of an HTTP request's body; a longer one is refused with 413."
        ),
        Key(
            "limits.message_length_max",
            \.webSocketLimits.messageLengthMax,
            .bytes(in: 1_024...(16 << 20)),
            help: """
                Bytes of a client's WebSocket message; a longer one closes the connection (1009).
                """
        ),
        Key(
            "limits.message_fragments_max",
            \.webSocketLimits.fragmentCountMax,
            .count("a number of frames", in: 1...1_000_000),
            help: "Frames per message; more close the connection (1009)."
        ),
        Key(
            "limits.message_timeout",
            \.messageTimeout,
            seconds,
            help: """
                Seconds from the header of a message's first frame to its last byte; then the \
                connection is closed (4100).
                """
        ),
        Key(
            "limits.queued_bytes_max",
            \.streamLimits.queuedBytesMax,
            .bytes(in: (64 << 10)...(1 << 30)),
            help: """
                Bytes queued for one connection. A client that reads too slowly is closed (4100) \
                and reconnects; it never skips events.
                """
        ),
        Key(
            "limits.queued_bytes_total_max",
            \.queuedBytesTotalMax,
            SettingKind<Int>.bytes(in: (1 << 20)...(1 << 40)).orNone(),
            help: """
                Memory of the queues of all slow readers; an event queued for many clients counts \
                once. From three quarters on, new connections are refused with 4100. At the limit, \
                the connections with the longest queues are closed (4100) until an eighth is free. \
                Each loop has its share. none: a quarter of the memory of the machine or its \
                container.

                A quarter of it, at most 128 MiB, is reserved for received data that is not \
                processed yet: partial bodies and messages, and events before their fan-out. When \
                that is full, requests are refused with 503 and Retry-After, and clients with \
                partial messages are closed (4100).
                """
        ),
        Key(
            "limits.retained_bytes_total_max",
            \.retainedBytesTotalMax,
            SettingKind<Int>.bytes(in: (1 << 20)...(1 << 40)).orNone(),
            help: """
                Bytes of the messages that all apps keep for clients that reconnect; above it the \
                oldest are dropped. none: an eighth of the memory that the process may use.
                """
        ),
        Key(
            "limits.relayed_events_max",
            \.relayedEventsMax,
            .count("a number of events", in: 1...100_000_000),
            help: """
                Events queued between two loops; further triggers are refused with 503 and \
                Retry-After. Other messages, such as subscriptions, do not count.
                """
        ),
        Key(
            "limits.trigger_timeout",
            \.triggerTimeout,
            seconds,
            help: """
                Seconds that a trigger waits while most subscribers of its channel read more \
                slowly than events arrive. Then it is refused with 503 and Retry-After, and its \
                event is not delivered.
                """
        ),
    ]

    private static let seconds = SettingKind<Duration>.seconds(in: 1...3_600)
    private static let connections = SettingKind<Int>.count(
        "a number of connections",
        in: 1...100_000_000
    )
    private static let connectionsPerSecond = SettingKind<Int>.count(
        "a number of connections a second",
        in: 1...1_000_000
    )
}
