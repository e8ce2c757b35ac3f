import Redis

/// The keys of a broker that is one of several nodes.
enum ClusterKeys {
    typealias Key = ConfigurationKey<Configuration>

    static let all: [Key] = [
        Key(
            "cluster.engine",
            \.cluster.engine,
            SettingKind<ClusterConfiguration.Engine>.choice.orNone(),
            help: """
                none: the broker is alone. redis: it is one of the nodes that share the server \
                below. "fanfare nodes" lists them, and "fanfare check" reports what is unsafe \
                about the server.
                """
        ),
        Key(
            "cluster.node",
            \.cluster.node,
            nodeName.orNone(),
            help: """
                The node's name in logs and in Redis: 1 to 64 letters, digits, ., - or _. none: \
                the machine's name.
                """
        ),
        Key(
            "cluster.partitions",
            \.cluster.partitions,
            .count("a number of partitions", in: 1...16_384),
            help: """
                Partitions that all channels are divided into. All nodes need the same number. To \
                change it later, delete what is in Redis.
                """
        ),
        Key(
            "cluster.prefix",
            \.cluster.prefix,
            .word,
            help: """
                The beginning of all keys in Redis. Deployments that share a server need different \
                ones.
                """
        ),
        Key(
            "cluster.redis.urls",
            \.cluster.redis.urls,
            listOf: redisURL,
            examples: ["redis://127.0.0.1:6379"],
            help: """
                The server's address: redis://HOST:6379, rediss://HOST:6379 for TLS, or \
                redis+unix:///PATH; with user and password redis://USER:PASSWORD@HOST. Each of \
                several servers has a share of the channels. All nodes need the same servers in \
                the same order. To change their number later, delete what is in Redis.
                """
        ),
        Key(
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
        Key(
            "cluster.redis.sentinels",
            \.cluster.redis.sentinels,
            listOf: redisURL,
            examples: ["redis://127.0.0.1:26379"],
            help: """
                All Sentinels that monitor the servers, with their ports. An address above is then \
                redis://NAME, with the name under which they monitor the server. The node uses the \
                server that more than half of them name, and none without such a majority.
                """
        ),
        Key(
            "cluster.redis.username",
            \.cluster.redis.username,
            SettingKind<String>.secret.orNone(),
            help: "The user, if it is not in the address. none: the default user."
        ),
        Key(
            "cluster.redis.password",
            \.cluster.redis.password,
            SettingKind<String>.secret.orNone(),
            help: "The password, if it is not in the address. none: no password."
        ),
        Key(
            "cluster.redis.trust",
            \.cluster.redis.trust,
            SettingKind<String>.path("the path of a PEM file").orNone(),
            help: """
                A PEM file of certificates to trust with rediss:// instead of the system's. none: \
                the system's.
                """
        ),
        Key(
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
        Key(
            "cluster.redis.replicas",
            \.cluster.redis.replicas,
            .count("a number of replicas", in: 1...16),
            help: """
                Replicas that must have an event, with acknowledge: replica. The node does not \
                start with fewer. If it is the number of all replicas of the server, clients \
                resume from their positions after a failover.
                """
        ),
        Key(
            "cluster.redis.patience",
            \.cluster.redis.patience,
            .count("a number of seconds", in: 0...60),
            help: """
                Seconds that events wait while the connection to Redis is lost; later ones are \
                refused with 503 and Retry-After.
                """
        ),
        Key(
            "cluster.redis.queued_bytes_max",
            \.cluster.redis.queuedBytesMax,
            .bytes(in: (1 << 20)...(16 << 30)),
            help: """
                Bytes of events that wait for Redis; beyond it, events are refused with 503 and \
                Retry-After.
                """
        ),
        Key(
            "cluster.lease",
            \.cluster.lease,
            .count("a number of seconds", in: 4...300),
            help: """
                Seconds without a sign of life after which the other nodes consider a node dead, \
                and remove what it has in Redis.
                """
        ),
        Key(
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

    /// A node's name, which becomes a part of keys and of `CLIENT LIST`.
    private static let nodeName = SettingKind<String>("1 to 64 letters, digits, ., - or _") {
        (1...64).contains($0.utf8.count)
            && $0.utf8.allSatisfy { isWordByte($0) || $0 == UInt8(ascii: ".") }
    }

    /// The address of a Redis server, which may contain a password.
    private static let redisURL = SettingKind<String>(
        "an address as redis://HOST:6379, rediss:// for TLS, or redis+unix:///PATH",
        text: { (try? RedisURL($0)).map { "\($0)" } ?? "(secret)" },
        isSecret: true
    ) { (try? RedisURL($0)) != nil }
}
