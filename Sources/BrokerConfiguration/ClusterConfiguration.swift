internal import Net
import Redis

/// The configuration of a broker that is one of several nodes.
public struct ClusterConfiguration: Sendable, Hashable {
    /// What the nodes share.
    public enum Engine: String, Sendable, CaseIterable {
        /// A Redis server, which orders all messages.
        case redis
    }

    /// What the nodes share; `nil` for a broker alone.
    public var engine: Engine?
    /// The node's name in logs and lists; `nil` for the machine's name.
    public var node: String?
    /// The number of parts that all channels are divided into, fixed for a deployment.
    public var partitions = 256
    /// The beginning of all keys in Redis: one for each deployment that shares a server.
    public var prefix = "f"
    /// The Redis server.
    public var redis = Redis()
    /// The time after which a node without a sign of life is dead, in seconds.
    public var lease = 10
    /// The time without Redis after which clients are asked to reconnect elsewhere, in seconds.
    public var closeAfter = 15

    /// The Redis servers that the nodes share, and how they are used.
    public struct Redis: Sendable, Hashable {
        /// When an event counts as published.
        public enum Acknowledgement: String, Sendable, CaseIterable {
            /// When the primary has executed it.
            case primary
            /// When replicas have it too.
            case replica
        }

        /// How the servers are run.
        public enum Mode: String, Sendable, CaseIterable {
            /// ``sentinel`` if there are Sentinels, else as the servers say.
            case auto
            /// Each server is alone, or has replicas that an operator promotes.
            case single
            /// Sentinels name the primary of each.
            case sentinel
            /// The servers are some of a Redis Cluster.
            case cluster
        }

        /// The addresses: `redis://`, `rediss://` or `redis+unix://`; each of several primaries has a share of the partitions.
        ///
        /// With Sentinels the host is the name under which they monitor the primary. Of a Redis Cluster some servers suffice,
        /// which name the others.
        public var urls: [String] = []
        /// How the servers are run.
        public var mode = Mode.auto
        /// The addresses of all Sentinels that monitor the server, in the same form; empty without any.
        public var sentinels: [String] = []
        /// The user; `nil` for the server's default user.
        public var username: String?
        /// The password; `nil` for none.
        public var password: String?
        /// The path of a PEM file of certificates to trust instead of the system's; `nil` for the system's.
        public var trust: String?
        /// When an event counts as published, so that its publisher gets 200.
        public var acknowledge = Acknowledgement.primary
        /// The number of replicas that have to have an event, with ``Acknowledgement/replica``.
        public var replicas = 1
        /// The time without a connection for which events wait, in seconds; later ones are refused.
        public var patience = 1
        /// The maximum size of the events that wait for Redis, in bytes.
        public var queuedBytesMax = 64 << 20

        /// Creates the default: no server.
        public init() {}

        /// The addresses without the passwords that they may contain.
        package var serverNames: [String] {
            urls.compactMap { try? RedisURL($0) }.map { "\($0)" }
        }
    }

    /// Creates the default: a broker alone.
    public init() {}
}

extension ClusterConfiguration {
    /// Whether the node shares a server on another machine, whose other nodes clients elsewhere may reach.
    var reachesOtherMachines: Bool {
        guard engine != nil else { return false }
        // With Sentinels the servers' addresses are names that only they know.
        let addresses = redis.sentinels.isEmpty ? redis.urls : redis.sentinels
        return addresses.contains { address in
            guard case .host(let host, _) = try? RedisURL(address).location else { return false }
            return host != "localhost" && SocketAddress(ip: host, port: 0)?.isLoopback != true
        }
    }
}
