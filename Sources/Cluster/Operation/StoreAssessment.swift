import BrokerConfiguration
import RESP
import Redis

/// The unsafe properties of a Redis server that a cluster is to use.
package struct StoreAssessment: Sendable, Hashable {
    /// The product and its version, such as `redis 7.0.15`.
    package var server: String
    /// The properties that forbid the use of the server, each a clause with a remedy.
    package var faults: [String] = []
    /// The properties that can lose messages or cost too much, each a clause with a remedy.
    package var warnings: [String] = []

    /// The settings of the server that are examined.
    static let settings = [
        "maxmemory", "maxmemory-policy", "appendonly", "save", "stream-node-max-bytes",
        "min-replicas-to-write", "cluster-require-full-coverage", "client-output-buffer-limit",
    ]

    /// The cluster's requirements for the server.
    struct Needs {
        /// The number of replicas that have to acknowledge.
        var replicaCount = 0
        /// The mechanism that promotes a replica when the server fails.
        var failover = Failover.none
        /// The layout of the data; `nil` if the server does not have it.
        var layout: String?
    }

    /// The mechanism that promotes a replica when a server fails.
    enum Failover {
        /// An operator.
        case none
        case sentinels
        case redisCluster
    }

    /// The smallest difference between the server's clock and this machine's that causes a warning, in milliseconds.
    private static var clockDifferenceMax: Int64 { 1_000 }
    /// The memory below which the channels that clients may open alone can fill the server, in bytes.
    private static var memoryMin: Int { 256 << 20 }
    /// The size of a node of a stream from which on small streams waste memory, in bytes.
    private static var streamNodeBytesMax: Int { 1_024 }
    /// The size of a node of a stream below which each message needs one of its own, in bytes.
    private static var streamNodeBytesMin: Int { 256 }

    /// Assesses a server.
    ///
    /// - Parameters:
    ///   - server: The server, as it has described itself.
    ///   - settings: Its values of ``settings``; `nil` if it does not report them.
    ///   - layout: The layout of its data; `nil` without data.
    ///   - clock: Its clock minus this machine's, in milliseconds.
    ///   - needs: The cluster's requirements.
    init(
        _ server: RedisServer,
        settings: [String: String]?,
        layout: String?,
        clock: Int64,
        for needs: Needs
    ) {
        self.server = "\(server.product) \(server.version)"
        if let layout, let needed = needs.layout, layout != needed {
            faults.append(
                "its data is of \(layout), but this configuration is of \(needed): set the same "
                    + "cluster.partitions and cluster.redis.urls on all nodes, or a "
                    + "different cluster.prefix for a different deployment"
            )
        }
        assessReplicas(server.replicaCount, needs)
        if abs(clock) >= Self.clockDifferenceMax {
            warnings.append(
                "its clock is \(abs(clock)) ms \(clock > 0 ? "ahead of" : "behind") this machine's: "
                    + "synchronize both (chrony, systemd-timesyncd)"
            )
        }
        guard let settings else {
            warnings.append(
                "CONFIG GET is not permitted, so memory, eviction and persistence were not checked"
            )
            return
        }
        assessMemory(settings)
        assessEviction(settings)
        assessPersistence(settings)
        assessStreams(settings)
        assessOutput(settings)
        if needs.failover != .none, settings["min-replicas-to-write"] == "0" {
            warnings.append(
                "min-replicas-to-write is 0: a primary that has lost its replicas accepts events, "
                    + "and a failover then loses them; set it to 1, and min-replicas-max-lag to 2"
            )
        }
        if needs.failover == .redisCluster, settings["cluster-require-full-coverage"] == "yes" {
            warnings.append(
                "cluster-require-full-coverage is yes: when a server without a replica fails, all "
                    + "others refuse events too; set it to no"
            )
        }
    }

    private mutating func assessReplicas(_ count: Int, _ needs: Needs) {
        if count < needs.replicaCount {
            faults.append(
                "\(count) replicas are connected, and cluster.redis.replicas is "
                    + "\(needs.replicaCount): all events would be refused; connect replicas, or "
                    + "set cluster.redis.acknowledge to primary"
            )
        } else if count == 0 {
            warnings.append(
                needs.failover == .redisCluster
                    ? "it has no replica: while it is down, events on its channels are refused; add a "
                        + "replica (CLUSTER REPLICATE)"
                    : "it has no replica: while it is down, all events are refused; add a replica, and "
                        + "Sentinels that promote it"
            )
        }
    }

    private mutating func assessMemory(_ settings: [String: String]) {
        guard let bytes = settings["maxmemory"].flatMap({ Int($0) }), bytes > 0,
            bytes < Self.memoryMin
        else { return }
        warnings.append(
            "maxmemory is \(bytes) bytes: with its memory full, it refuses all events; 100,000 "
                + "channels with positions alone take about 70 MB; set it to 256mb or more, or "
                + "lower recovery.opened_streams_max of the apps"
        )
    }

    private mutating func assessEviction(_ settings: [String: String]) {
        guard let policy = settings["maxmemory-policy"], policy != "noeviction" else { return }
        if settings["maxmemory"] == "0" {
            warnings.append(
                "maxmemory-policy is \(policy), which takes effect when maxmemory is set: set it "
                    + "to noeviction"
            )
        } else {
            faults.append(
                "maxmemory-policy is \(policy): with its memory full it would remove messages and "
                    + "members; set it to noeviction"
            )
        }
    }

    private mutating func assessPersistence(_ settings: [String: String]) {
        guard settings["appendonly"] == "no", let save = settings["save"] else { return }
        if save.isEmpty {
            warnings.append(
                "it keeps nothing on its disk: a restart loses all messages, and clients are "
                    + "notified of a gap; set appendonly yes"
            )
        } else {
            warnings.append(
                "it writes to its disk only at intervals (save \(save)): a restart loses the "
                    + "messages since the last write; set appendonly yes"
            )
        }
    }

    private mutating func assessOutput(_ settings: [String: String]) {
        // `CLASS HARD SOFT SECONDS` for each class, in bytes; 0 is no limit.
        let words = settings["client-output-buffer-limit"]?.split(separator: " ") ?? []
        guard let index = words.firstIndex(of: "pubsub"), index + 1 < words.count,
            let bytes = Int(words[index + 1]), bytes > 0, bytes < 2 * ReadQueue.bytesMax
        else { return }
        warnings.append(
            "client-output-buffer-limit pubsub is \(bytes) bytes: the server disconnects a node "
                + "that catches up or falls behind briefly; set it to 32mb 8mb 60 or more"
        )
    }

    private mutating func assessStreams(_ settings: [String: String]) {
        guard let bytes = settings["stream-node-max-bytes"].flatMap({ Int($0) }) else { return }
        if bytes > Self.streamNodeBytesMax || bytes == 0 {
            warnings.append(
                "stream-node-max-bytes is \(bytes): each channel with positions takes 4 KiB and "
                    + "more; set it to 1024"
            )
        } else if bytes < Self.streamNodeBytesMin {
            warnings.append(
                "stream-node-max-bytes is \(bytes): each message takes its own stream node, "
                    + "which costs memory and time; set it to 1024"
            )
        }
    }
}

extension ClusterInspector {
    /// The key of the layout, outside of all partitions, because another number of partitions has other keys.
    var layoutKey: String { "\(configuration.prefix):layout" }

    /// Assesses a server; throws the reason why it cannot be queried.
    ///
    /// `claims` is whether the data gets the configured layout from now on, if it has none.
    package func assess(
        _ server: ClusterServer,
        claims: Bool = false
    ) async throws(Failure) -> StoreAssessment {
        var commands = [["TIME"], ["CONFIG", "GET"] + StoreAssessment.settings]
        if let layout = server.layout {
            commands.append(
                claims ? ["SET", layoutKey, layout, "NX", "GET"] : ["GET", layoutKey]
            )
        }
        let exchange = try await ask(server, commands)
        let replies = exchange.replies
        let time = Self.milliseconds(replies[0]) ?? exchange.endedAt
        let redis = configuration.redis
        var assessment = StoreAssessment(
            exchange.server,
            settings: replies[1].isError ? nil : replies[1].fields,
            layout: replies.dropFirst(2).first { !$0.isError && $0 != .null }?.text,
            clock: time - exchange.endedAt,
            for: StoreAssessment.Needs(
                replicaCount: redis.acknowledge == .replica ? redis.replicas : 0,
                failover: server.isOfRedisCluster
                    ? .redisCluster : redis.sentinels.isEmpty ? .none : .sentinels,
                layout: server.layout
            )
        )
        if !server.isOfRedisCluster, let fault = redis.mode.fault(of: exchange.server) {
            assessment.faults.insert(fault, at: 0)
        }
        return assessment
    }

    /// Reads the reply to `TIME`, in milliseconds since 1970.
    static func milliseconds(_ reply: RESPTree) -> Int64? {
        guard reply.elements.count == 2, let seconds = Int64(reply.elements[0].text),
            let microseconds = Int64(reply.elements[1].text)
        else { return nil }
        return seconds * 1_000 + microseconds / 1_000
    }
}
