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
    /// The length of one WebSocket message of a client, in bytes.
    public var messageLengthMax = 65_536
    /// What may wait to be sent to one connection, in bytes; a slower reader is closed with 4100.
    public var queuedBytesMax = 16 << 20
    /// The length of an HTTP request's body, in bytes.
    public var requestBodyLengthMax = 1 << 20

    /// Whether and when messages are compressed.
    public var compression = Compression()
    /// Where webhooks wait, and whom they trust.
    public var webhooks = Webhooks()
    /// How the broker stops.
    public var shutdown = Shutdown()
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

    /// What the webhooks of all apps have in common.
    public struct Webhooks: Sendable, Hashable {
        /// The file of those that wait to be sent; `nil` keeps them in memory, where a restart loses them.
        public var database: String?
        /// A PEM file of certificates that endpoints are trusted by beside the system's; `nil` for none.
        public var trust: String?

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
