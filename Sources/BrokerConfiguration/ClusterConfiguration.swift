internal import Broker
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

extension ConfigurationKey<Configuration> {
    /// The keys of a broker that is one of several nodes.
    static let cluster: [Self] = [
        Self(
            "cluster.engine",
            \.cluster.engine,
            SettingKind<ClusterConfiguration.Engine>.choice.orNone(),
            help: """
                none: the broker is alone. redis: it is one of the nodes that share the server \
                below. "fanfare nodes" lists them, and "fanfare check" reports what is unsafe \
                about the server.
                """
        ),
        Self(
            "cluster.node",
            \.cluster.node,
            SettingKind<String>.nodeName.orNone(),
            help: """
                The node's name in logs and in Redis: 1 to 64 letters, digits, ., - or _. none: \
                the machine's name.
                """
        ),
        Self(
            "cluster.partitions",
            \.cluster.partitions,
            .count("a number of partitions", in: 1...16_384),
            help: """
                Partitions that all channels are divided into. All nodes need the same number. To \
                change it later, delete what is in Redis.
                """
        ),
        Self(
            "cluster.prefix",
            \.cluster.prefix,
            .word,
            help: """
                The beginning of all keys in Redis. Deployments that share a server need different \
                ones.
                """
        ),
        Self(
            "cluster.redis.urls",
            \.cluster.redis.urls,
            listOf: .redisURL,
            examples: ["redis://127.0.0.1:6379"],
            help: """
                The server's address: redis://HOST:6379, rediss://HOST:6379 for TLS, or \
                redis+unix:///PATH; with user and password redis://USER:PASSWORD@HOST. Each of \
                several servers has a share of the channels. All nodes need the same servers in \
                the same order. To change their number later, delete what is in Redis.
                """
        ),
        Self(
            "cluster.redis.mode",
            \.cluster.redis.mode,
            SettingKind<ClusterConfiguration.Redis.Mode>.choice,
            help: """
                How the servers are run. single: each alone, or with replicas that you promote. \
                sentinel: as the Sentinels below name them. cluster: a Redis Cluster; the \
                addresses above are some of its servers. auto: sentinel if there are Sentinels, \
                otherwise what the servers report. A node does not start if its servers are run in \
                another way.
                """
        ),
        Self(
            "cluster.redis.sentinels",
            \.cluster.redis.sentinels,
            listOf: .redisURL,
            examples: ["redis://127.0.0.1:26379"],
            help: """
                All Sentinels that monitor the servers, with their ports. An address above is then \
                redis://NAME, with the name under which they monitor the server. The node uses the \
                server that more than half of them name, and none without such a majority.
                """
        ),
        Self(
            "cluster.redis.username",
            \.cluster.redis.username,
            SettingKind<String>.secret.orNone(),
            help: "The user, if it is not in the address. none: the default user."
        ),
        Self(
            "cluster.redis.password",
            \.cluster.redis.password,
            SettingKind<String>.secret.orNone(),
            help: "The password, if it is not in the address. none: no password."
        ),
        Self(
            "cluster.redis.trust",
            \.cluster.redis.trust,
            SettingKind<String>.path("the path of a PEM file").orNone(),
            help: """
                A PEM file of certificates to trust with rediss:// instead of the system's. none: \
                the system's.
                """
        ),
        Self(
            "cluster.redis.acknowledge",
            \.cluster.redis.acknowledge,
            SettingKind<ClusterConfiguration.Redis.Acknowledgement>.choice,
            help: """
                When an event counts as published, so that its publisher gets 200. primary: when \
                the server has it; if the server then fails, a replica that takes its place may \
                lack the event. replica: when as many replicas have it too as the key below says; \
                if they do not confirm within a second, the publisher gets 503, although the event \
                may have been published.
                """
        ),
        Self(
            "cluster.redis.replicas",
            \.cluster.redis.replicas,
            .count("a number of replicas", in: 1...16),
            help: """
                Replicas that must have an event, with acknowledge: replica. The node does not \
                start with fewer. If it is the number of all replicas of the server, clients \
                resume from their positions after a failover.
                """
        ),
        Self(
            "cluster.redis.patience",
            \.cluster.redis.patience,
            .count("a number of seconds", in: 0...60),
            help: """
                Seconds that events wait while the connection to Redis is lost; later ones are \
                refused with 503 and Retry-After.
                """
        ),
        Self(
            "cluster.redis.queued_bytes_max",
            \.cluster.redis.queuedBytesMax,
            .bytes(in: (1 << 20)...(16 << 30)),
            help: """
                Bytes of events that wait for Redis; beyond it, events are refused with 503 and \
                Retry-After.
                """
        ),
        Self(
            "cluster.lease",
            \.cluster.lease,
            .count("a number of seconds", in: 4...300),
            help: """
                Seconds without a sign of life after which the other nodes consider a node dead, \
                and remove what it has in Redis.
                """
        ),
        Self(
            "cluster.close_after",
            \.cluster.closeAfter,
            .count("a number of seconds", in: 1...3_600),
            help: """
                Seconds without Redis after which clients are asked to reconnect to another node \
                (4200), and new ones are refused (4100). GET /health answers 503 from five seconds \
                on.
                """
        ),
    ]
}

extension SettingKind<String> {
    /// A node's name, which becomes a part of keys and of `CLIENT LIST`.
    fileprivate static var nodeName: Self {
        Self(
            expectation: "1 to 64 letters, digits, ., - or _",
            read: { $0 },
            isValid: { name in
                (1...64).contains(name.utf8.count)
                    && name.utf8.allSatisfy { isWordByte($0) || $0 == UInt8(ascii: ".") }
            },
            text: { $0 }
        )
    }

    /// The address of a Redis server, which may contain a password.
    fileprivate static var redisURL: Self {
        Self(
            expectation:
                "an address as redis://HOST:6379, rediss:// for TLS, or redis+unix:///PATH",
            read: { $0 },
            isValid: { (try? RedisURL($0)) != nil },
            text: { (try? RedisURL($0)).map { "\($0)" } ?? "(secret)" },
            isSecret: true
        )
    }
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

extension Configuration {
    /// The contradictions of the cluster's keys with each other and with the rest.
    func clusterFaults(besides known: Set<String>) -> [ConfigurationFault] {
        guard cluster.engine == .redis else { return [] }
        var faults: [ConfigurationFault] = []
        func add(_ key: String, _ problem: String) {
            faults.append(ConfigurationFault(key: key, problem: problem))
        }
        let urls = cluster.redis.urls
        if urls.isEmpty {
            add("cluster.redis.urls", "is empty, but cluster.engine is redis: name the server")
        }
        let locations = urls.map { (try? RedisURL($0))?.location }
        for (number, location) in locations.enumerated() {
            if let location, locations[..<number].contains(location) {
                add(
                    "cluster.redis.urls.\(number)",
                    "is there twice: each server has a share of the channels"
                )
            }
            if !cluster.redis.sentinels.isEmpty, case .unix = location {
                add(
                    "cluster.redis.urls.\(number)",
                    "is a path, but there are cluster.redis.sentinels: name the primary as they do, redis://NAME"
                )
            }
            if cluster.redis.mode == .cluster, case .unix = location {
                add(
                    "cluster.redis.urls.\(number)",
                    "is a path, but cluster.redis.mode is cluster: name the server as the others reach it, redis://HOST:PORT"
                )
            }
        }
        switch (cluster.redis.mode, cluster.redis.sentinels.isEmpty) {
        case (.sentinel, true):
            add("cluster.redis.mode", "is sentinel: name all of them in cluster.redis.sentinels")
        case (.single, false), (.cluster, false):
            add(
                "cluster.redis.mode",
                "is \(cluster.redis.mode), but there are cluster.redis.sentinels: leave one of the two out"
            )
        default: break
        }
        if urls.count > cluster.partitions, cluster.redis.mode != .cluster {
            add(
                "cluster.redis.urls",
                "names \(urls.count) servers for \(cluster.partitions) parts: raise cluster.partitions"
            )
        }
        if cluster.redis.replicas != 1, cluster.redis.acknowledge == .primary {
            add(
                "cluster.redis.replicas",
                "is of no use unless cluster.redis.acknowledge is replica"
            )
        }
        let isSecure = (urls + cluster.redis.sentinels).contains {
            (try? RedisURL($0))?.isSecure == true
        }
        if cluster.redis.trust != nil, !isSecure, !known.contains("cluster.redis.urls.0") {
            add("cluster.redis.trust", "is of no use without an address that begins with rediss://")
        }
        if cluster.redis.username != nil, cluster.redis.password == nil {
            add("cluster.redis.username", "needs a password: set cluster.redis.password")
        }
        for (key, path) in [
            ("recovery.database", recovery.database), ("recovery.spool", recovery.spool),
        ] where path != nil {
            add(
                key,
                "is of no use with cluster.engine: redis, which keeps all streams; leave it out"
            )
        }
        for (number, app) in apps.enumerated() {
            for (index, rule) in app.recoveryRules.enumerated()
            where rule.settings.store == .archive {
                add(
                    "apps.\(number).recovery.rules.\(index).store",
                    "is sqlite, but cluster.engine is redis, which keeps all streams; leave it out"
                )
            }
        }
        return faults
    }
}
