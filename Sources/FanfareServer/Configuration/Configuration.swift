public import Logging
public import Net

/// Everything an operator may choose about a broker: plain values with their defaults.
///
/// A configuration is read by ``load(file:environment:options:)``, judged in one place, by
/// ``faults()``, and passed down. `config/fanfare.example.yaml` shows every key with its unit,
/// default and consequence; a test holds the two together.
public struct Configuration: Sendable, Equatable {
    /// The IP address that the TCP listeners are bound to.
    public var host = "127.0.0.1"
    /// The port of the plain listener; 0 takes any free one, `nil` means that there is none.
    public var port: UInt16? = 6001
    /// The port of the TLS listener; 0 takes any free one, `nil` means that there is none.
    public var tlsPort: UInt16?
    /// The certificates of the TLS listener; a client's server name chooses, the first is the default.
    public var certificates: [CertificateFiles] = []
    /// The path of the Unix-domain socket to listen on, if any.
    public var unixSocket: String?
    /// What every path begins with, as `/realtime`; removed before a request is looked at.
    public var pathPrefix = ""
    /// The event loops, each a thread; 0 for one a core.
    public var loops = 0

    /// The apps that clients and backends may use.
    public var apps: [AppConfiguration] = [.development]

    /// The silence after which a client should ask whether the connection lives, in seconds.
    public var activityTimeout = 120
    /// How long a peer may take to answer a ping, in seconds.
    public var pongTimeout = 30
    /// Whether clients must name the version of the protocol; one that does not is refused with 4008.
    public var requiresProtocolVersion = false
    /// The connections of the whole process; `nil` leaves it to the limit of open descriptors.
    public var connectionsMax: Int?
    /// How many orphanedConnections are let in, and how long each may take.
    public var admission = Admission()
    /// The length of one WebSocket message of a client, in bytes.
    public var messageLengthMax = 65_536
    /// The frames that one message may come in.
    public var messageFragmentsMax = 4_096
    /// How long a client's message may take to arrive, in seconds.
    public var messageTimeout = 30
    /// What may wait to be sent to one connection, in bytes; a slower reader is closed with 4100.
    public var queuedBytesMax = 16 << 20
    /// What all that waits to be sent may hold of memory, in bytes; `nil` for a quarter of what the process may use.
    public var queuedBytesTotalMax: Int?
    /// The messages that may wait between two loops before triggers are refused with 503.
    public var relayedEventsMax = 100_000
    /// How long a trigger waits for a channel whose subscribers are behind before it is refused, in seconds.
    public var triggerTimeout = 3
    /// The length of all fields of an HTTP request's head, in bytes.
    public var requestHeadLengthMax = 16_384
    /// The length of an HTTP request's body, in bytes.
    public var requestBodyLengthMax = 1 << 20

    /// Whether and when messages are compressed.
    public var compression = Compression()
    /// Where webhooks wait, and whom they trust.
    public var webhooks = Webhooks()
    /// How the broker stops.
    public var shutdown = Shutdown()
    /// Where programs that watch the broker find its metrics.
    public var metrics = Metrics()
    /// What is logged, and how it looks.
    public var log = Log()

    /// The development broker: loopback, port 6001, app `1` with key `app-key` and secret `app-secret`.
    ///
    /// Its credentials are public, so ``faults()`` refuses them on any other address.
    public static let development = Configuration()

    /// Creates a configuration of the defaults: the one of ``development``.
    public init() {}
}

extension Configuration {
    /// The compression of messages by permessage-deflate (RFC 7692).
    public struct Compression: Sendable, Hashable {
        /// Whether the broker agrees to compress when a client offers it.
        public var isEnabled = true
        /// The shortest message worth compressing, in bytes.
        public var threshold = 1_024

        /// Creates the default: on, from 1,024 bytes.
        public init() {}
    }

    /// How orphanedConnections are let in: what holds before anybody has shown a key.
    public struct Admission: Sendable, Hashable {
        /// The addresses, or ranges of them, of proxies, which name their clients in `X-Forwarded-For`.
        public var trustedProxies = ["127.0.0.0/8", "::1"]
        /// The connections of one address, an IPv4 address or a /64 of IPv6; `nil` for any number while half of all
        /// connections are free, and from then on for a quarter of all, and 100 at least.
        public var connectionsPerAddressMax: Int?
        /// The connections that may begin in a second; `nil` for any number.
        public var newConnectionsPerSecondMax: Int?
        /// The connections that may begin in a second from one address; `nil` for any number.
        public var newConnectionsPerAddressPerSecondMax: Int?
        /// The connections that are no client's yet, or carry HTTP alone.
        public var handshakesMax = 4_096
        /// How long a TLS handshake may take, in seconds.
        public var tlsHandshakeTimeout = 10
        /// How long a request's head may take, in seconds.
        public var requestHeadTimeout = 10
        /// How long a request's body may take, in seconds.
        public var requestBodyTimeout = 30
        /// How long a connection may be silent between two requests, in seconds.
        public var requestIdleTimeout = 75

        /// Creates the defaults.
        public init() {}
    }

    /// Where the broker shows its metrics, in the text format of Prometheus.
    public struct Metrics: Sendable, Hashable {
        /// The IP address of the listener.
        public var host = "127.0.0.1"
        /// Its port; 0 takes any free one, `nil` means that there is none.
        public var port: UInt16?

        /// Creates the default: shown to nobody.
        public init() {}
    }

    /// What the webhooks of all apps have in common.
    public struct Webhooks: Sendable, Hashable {
        /// The file of those that wait to be sent; `nil` keeps them in memory, where a restart loses them.
        public var database: String?
        /// A PEM file of certificates that endpoints are trusted by beside the system's; `nil` for none.
        public var trust: String?
        /// The requests that are under way to one endpoint at a time.
        public var inFlightMax = 8
        /// The webhooks that may wait for one endpoint; beyond it the oldest become dead letters.
        public var queuedMax = 10_000
        /// The length of the webhooks that may wait for one endpoint, in bytes; beyond it likewise.
        public var queuedBytesMax = 64 << 20

        /// Creates the default: in memory, and the system's certificates.
        public init() {}
    }

    /// How clients are sent away when the broker stops.
    public struct Shutdown: Sendable, Hashable {
        /// How long the whole stop may take, in seconds; what is still queued then is dropped.
        public var deadline = 10
        /// The clients that are closed each second, in even portions; more of them when the deadline would leave some out.
        public var pace = 5_000
        /// The time in which load balancers may turn away, in seconds of the deadline: `/health` says 503, and all else
        /// goes on as before.
        public var notice = 0

        /// Creates the default: ten seconds, 5,000 clients a second, no notice.
        public init() {}
    }

    /// The log of the program, which goes to standard error.
    public struct Log: Sendable, Hashable {
        /// The least level that is written.
        public var level = Logger.Level.info
        /// The look of a line.
        public var format = LogFormat.auto

        /// Creates the default: `info` and above, as text on a terminal and as JSON otherwise.
        public init() {}
    }
}
