public import Broker
public import HTTP1
public import HTTPServer
public import Logging
public import Net
public import ServerLog
public import WebSocket

/// The configuration of a broker: plain values with their defaults.
///
/// A configuration is read by ``load(file:environment:options:)`` and validated by ``faults()``.
/// `config/fanfare.example.yaml` describes every key with its unit, default and effect; `ConfigurationReference` generates it.
public struct Configuration: Sendable, Equatable {
    /// The IP addresses that the TCP listeners are bound to, at least one; each listens on the same ports.
    public var hosts = ["127.0.0.1"]
    /// The port of the plain listener; 0 for any free port, `nil` for no listener.
    public var port: UInt16? = 6001
    /// The port of the TLS listener; 0 for any free port, `nil` for no listener.
    public var tlsPort: UInt16?
    /// The certificates of the TLS listener; chosen by the client's server name (SNI), the first is the default.
    public var certificates: [CertificateFiles] = []
    /// The path of the Unix-domain socket to listen on, if any.
    public var unixSocket: String?
    /// The prefix of every path, such as `/realtime`; removed before routing.
    public var pathPrefix = ""
    /// The number of event loops, each a thread; 0 for one per core.
    public var loops = 0

    /// The apps.
    public var apps: [AppConfiguration] = [.development]

    /// The time of silence after which a client should ping, in seconds.
    public var activityTimeout = 120
    /// The time in which a peer must answer a ping, in seconds.
    public var pongTimeout = 30
    /// Whether clients must send the protocol version; others are refused with 4008.
    public var requiresProtocolVersion = false
    /// The maximum number of connections of the process; `nil` for the limit of open descriptors.
    public var connectionsMax: Int?
    /// The limits of connections before they are authenticated.
    public var admission = AdmissionLimits()
    /// The limits of a client's WebSocket messages.
    public var webSocketLimits = WebSocketLimits(messageLengthMax: 262_144, fragmentCountMax: 4_096)
    /// The maximum time between the first and the last byte of a client's message.
    public var messageTimeout = Duration.seconds(30)
    /// The limits of a connection's bytes; a slower reader is closed with 4100.
    public var streamLimits = StreamLimits()
    /// The maximum memory of all outgoing queues, in bytes; `nil` for a quarter of the memory that the process may use.
    public var queuedBytesTotalMax: Int?
    /// The maximum size of all messages kept for clients that come back, in bytes; `nil` for an eighth of the memory that
    /// the process may use.
    public var retainedBytesTotalMax: Int?
    /// The number of messages queued between two loops from which triggers are refused with 503.
    public var relayedEventsMax = 100_000
    /// The time that a trigger waits for a congested channel before it is refused.
    public var triggerTimeout = Duration.seconds(3)
    /// The limits of HTTP requests.
    public var httpLimits = HTTPLimits(fieldBytesMax: 16_384, bodyLengthMax: 2 << 20)
    /// The times of HTTP requests.
    public var httpTimeouts = HTTPTimeouts(answer: .seconds(30))

    /// The records of connections.
    public var connectionRecords = ConnectionRecords.Settings()
    /// The compression of messages.
    public var compression = Compression()
    /// The settings of the webhooks of all apps.
    public var webhooks = Webhooks()
    /// The archive of stored channels, and the spool.
    public var recovery = Recovery()
    /// The nodes that the broker is one of.
    public var cluster = ClusterConfiguration()
    /// The settings of the shutdown.
    public var shutdown = Shutdown()
    /// The listener of the metrics.
    public var metrics = Metrics()
    /// The console.
    public var console = ConsoleConfiguration()
    /// The level and format of the log.
    public var log = Log()

    /// The development broker: loopback, port 6001, app `1` with key `app-key` and secret `app-secret`.
    ///
    /// Its credentials are public, so ``faults()`` refuses them on any other address.
    public static let development = Configuration()

    /// Creates the default configuration, ``development``.
    public init() {}

    /// Whether other machines can reach the TCP listeners.
    package var isExposed: Bool {
        guard port != nil || tlsPort != nil else { return false }
        return hosts.compactMap { SocketAddress(ip: $0, port: 0) }.contains { !$0.isLoopback }
    }

    /// Whether the console is served at `/` of the plain port, without a password.
    ///
    /// That is a broker for development, which only this machine can reach and whose credentials are public.
    package var servesOpenConsole: Bool {
        guard hosts.allSatisfy({ SocketAddress(ip: $0, port: 0)?.isLoopback == true }), port != nil,
            console.port == nil, unixSocket == nil
        else { return false }
        return apps.areForDevelopment
    }
}

extension Configuration {
    /// The compression of messages by permessage-deflate (RFC 7692).
    public struct Compression: Sendable, Hashable {
        /// Whether the broker accepts a client's offer of compression.
        public var isEnabled = true
        /// The minimum length of a compressed message, in bytes.
        public var threshold = 1_024

        /// Creates the default: on, from 1,024 bytes.
        public init() {}
    }

    /// The listener of the metrics, in the text format of Prometheus.
    public struct Metrics: Sendable, Hashable {
        /// The IP addresses that are listened on, at least one.
        public var hosts = ["127.0.0.1"]
        /// The port of the listener; 0 for any free port, `nil` for no listener.
        public var port: UInt16?

        /// Creates the default: no listener.
        public init() {}
    }

    /// The settings of the webhooks of all apps.
    public struct Webhooks: Sendable, Hashable {
        /// The path of the database of queued webhooks; `nil` to keep them in memory, where a restart loses them.
        public var database: String?
        /// The path of a PEM file of certificates to trust in addition to the system's; `nil` for none.
        public var trust: String?
        /// The maximum number of concurrent requests to one endpoint.
        public var inFlightMax = 8
        /// The maximum number of webhooks queued for one endpoint; above it the oldest become dead letters.
        public var queuedMax = 10_000
        /// The maximum size of the webhooks queued for one endpoint, in bytes; above it the oldest become dead letters.
        public var queuedBytesMax = 64 << 20

        /// Creates the default: in memory, with the system's certificates.
        public init() {}
    }

    /// The archive of stored channels, and the spool.
    public struct Recovery: Sendable, Hashable {
        /// The path of the archive's file; `nil` without one, where every channel is in memory.
        public var database: String?
        /// Which events survive a loss of power.
        public var sync = Sync.process
        /// What happens to events of stored channels while the file cannot be written.
        public var whenFailing = WhenFailing.refuse
        /// The maximum size of the events that wait for the file, in bytes; above it events are refused with 503.
        public var unstoredBytesMax = 64 << 20
        /// The maximum size of the file's contents, in bytes; above it the oldest messages go.
        public var databaseBytesMax = 1 << 30
        /// The path of the file in which a stop keeps what is in memory; `nil` for none.
        public var spool: String?

        /// Which events of stored channels survive what.
        public enum Sync: String, Sendable, CaseIterable {
            /// Every event survives the end of the process; the last ones may be lost with the power, which is told.
            case process
            /// Every event is on the disk before it is released.
            case power
        }

        /// What happens to events of stored channels while the file cannot be written.
        public enum WhenFailing: String, Sendable, CaseIterable {
            /// They are refused with 503.
            case refuse
            /// They go on in memory, in streams with other IDs.
            case memory
        }

        /// Creates the default: no archive and no spool.
        public init() {}
    }

    /// The settings of the shutdown.
    public struct Shutdown: Sendable, Hashable {
        /// The maximum time of the shutdown, in seconds; what is still queued then is dropped.
        public var deadline = 10
        /// The number of clients that are closed per second; more if the deadline requires it.
        public var pace = 5_000
        /// The time before clients are closed, in seconds of the deadline: `/health` answers 503, so that load
        /// balancers stop sending clients, while everything else continues.
        public var notice = 0

        /// Creates the default: ten seconds, 5,000 clients a second, no notice.
        public init() {}
    }

    /// The log of the program, which goes to standard error.
    public struct Log: Sendable, Hashable {
        /// The minimum level that is written.
        public var level = Logger.Level.info
        /// The format of a line.
        public var format = LogFormat.auto

        /// Creates the default: `info` and above, as text on a terminal and as JSON otherwise.
        public init() {}
    }
}
