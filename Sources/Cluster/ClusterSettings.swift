package import Broker
package import BrokerConfiguration
import Glibc
package import Logging
package import Net
import Primitives
package import Redis
import Shard

/// The settings of the cluster for all shards of a node, computed once from the configuration.
package final class ClusterSettings: Sendable {
    /// The node's name in Redis, different after each start.
    package let node: String
    /// The node's display name: that of the configuration, or the machine's with the port.
    let displayName: String
    /// The keys of each partition.
    let keys: [PartitionKeys]
    let scripts: ClusterScripts
    /// The scripts for a Redis Cluster.
    let shardedScripts: ClusterScripts
    /// The stores.
    ///
    /// A partition is in the store whose number is the partition's number modulo their count.
    ///
    /// For a Redis Cluster, the servers from which all others are discovered.
    package let stores: [StoreAddress]
    /// The operating mode of the servers.
    let mode: ClusterConfiguration.Redis.Mode
    let tls: TLSContext?
    let connection: RedisSettings
    /// The time after which a node without a heartbeat is dead, in milliseconds.
    let lease: Int
    /// The time without a connection for which events wait.
    let patience: Duration
    /// The time without a connection after which clients are closed.
    let closeAfter: Duration
    /// The maximum size of the waiting events of one shard, in bytes.
    let queuedBytesMax: Int
    /// The number of replicas that have to confirm a message before its publisher gets 200; `nil` if none has to.
    let replicaCount: Int?
    /// The shards' shared knowledge about their connections.
    package let status: ClusterStatus
    /// The sender of the webhooks of the partitions that this node leads; `nil` for none.
    let webhooks: (any QueuedEventSender)?
    /// What the partitions of a Redis Cluster keep.
    let keptTotals = KeptTotals()

    /// The time between two heartbeats.
    static var heartbeatInterval: Duration { .seconds(2) }
    /// The number of portions in which partitions get their heartbeats and their due work is executed.
    static var portionCount: Int { 8 }
    /// The time until the next portion of work that takes several turns, because events have precedence.
    static var nextTurn: Duration { .milliseconds(1) }
    /// The time within which Redis has to answer a call.
    private static var answerTimeout: Duration { .seconds(3) }
    /// The maximum size of the calls besides events: those of other purposes, and the last batch.
    private static var callBytesMax: Int { 64 << 20 }
    /// The number of socket IDs of a node; they begin at a multiple of this.
    package static var socketIDCount: UInt64 { 1 << 23 }
    /// The largest number of a node.
    static var nodeNumberMax: UInt64 { 1_023 }

    /// Creates the settings.
    ///
    /// - Parameters:
    ///   - configuration: A valid configuration with an engine.
    ///   - port: The port of the clients, for a node without a name; `nil` for a broker that only listens on a socket
    ///     file.
    ///   - shardCount: The number of shards.
    ///   - life: A number that differs for each start of the node, for its name in Redis.
    ///   - log: Where losses of Redis are logged.
    ///   - webhooks: The sender of the webhooks of the partitions that this node leads; `nil` for none.
    /// - Throws: The reason why the file of certificates cannot be used.
    package init(
        _ configuration: ClusterConfiguration,
        port: UInt16?,
        shardCount: Int,
        life: UInt32 = .random(in: .min ... .max),
        log: Logger,
        webhooks: (any QueuedEventSender)? = nil
    ) throws(TLSError) {
        let redis = configuration.redis
        let name = configuration.node ?? Self.hostName
        displayName = configuration.node ?? (port.map { "\(name):\($0)" } ?? name)
        node = "\(name)-\(String(life, radix: 36))"
        keys = PartitionKeys.all(
            prefix: configuration.prefix,
            count: configuration.partitions,
            poolCount: redis.stores.count
        )
        scripts = ClusterScripts(isSharded: false)
        (stores, mode) = (redis.stores, redis.mode)
        shardedScripts = ClusterScripts(isSharded: true)
        precondition(!stores.isEmpty, "the configuration was validated")
        tls = try redis.tls()
        queuedBytesMax = redis.queuedBytesMax / shardCount
        connection = RedisSettings(
            username: redis.username,
            password: redis.password,
            clientName: "fanfare:\(node)",
            scripts: scripts.all,
            answerTimeout: Self.answerTimeout,
            unansweredBytesMax: queuedBytesMax + Self.callBytesMax
        )
        replicaCount = redis.acknowledge == .replica ? redis.replicas : nil
        lease = configuration.lease * 1_000
        patience = .seconds(redis.patience)
        closeAfter = .seconds(configuration.closeAfter)
        status = ClusterStatus(log)
        self.webhooks = webhooks
    }

    /// The name of the machine, reduced to the characters allowed in a node's name.
    private static var hostName: String {
        var bytes = [CChar](repeating: 0, count: 65)
        guard gethostname(&bytes, bytes.count - 1) == 0 else { return "node" }
        let name = bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
            .filter { $0.isLetter || $0.isDigit || "-_.".utf8.contains($0) }
        return name.isEmpty ? "node" : String(decoding: name.prefix(64), as: UTF8.self)
    }
}

extension ClusterSettings: ClusterMembership {
    package var partitionCount: Int { keys.count }
    package var isIsolated: Bool { status.isIsolated }
    package var isClosed: Bool { status.isClosed }
    package var lastFault: String? { status.lastFault }
}

/// How the primary of a store is found.
package struct StoreAddress: Sendable {
    /// The server; with Sentinels the host is the name of the primary.
    package let url: RedisURL
    /// The Sentinels; `nil` without any.
    let sentinels: SentinelWatch.Settings?
}

extension ClusterConfiguration.Redis {
    /// The addresses of the stores, in their order.
    var stores: [StoreAddress] {
        let sentinels = sentinelURLs
        return storeURLs.map { url in
            guard case .host(let name, _) = url.location, !sentinels.isEmpty else {
                return StoreAddress(url: url, sentinels: nil)
            }
            return StoreAddress(url: url, sentinels: .init(name: name, sentinels: sentinels))
        }
    }

    /// The certificates to accept; `nil` if no address is secure.
    ///
    /// - Throws: The reason why the file of certificates cannot be used.
    func tls() throws(TLSError) -> TLSContext? {
        guard (storeURLs + sentinelURLs).contains(where: \.isSecure) else { return nil }
        return try .client(trust: trust.map { .file($0) } ?? .system)
    }

    private var storeURLs: [RedisURL] { urls.compactMap { try? RedisURL($0) } }
    private var sentinelURLs: [RedisURL] { sentinels.compactMap { try? RedisURL($0) } }
}

extension ClusterConfiguration.Redis.Mode {
    /// Whether a server of a Redis Cluster is used to discover all others.
    func joins(_ address: StoreAddress) -> Bool {
        guard self == .auto, address.sentinels == nil, case .host = address.url.location else {
            return false
        }
        return true
    }

    /// The reason why a server does not run in the configured mode; `nil` if it does.
    func fault(of server: RedisServer) -> String? {
        switch (self, server.mode) {
        case (.auto, .cluster):
            "it is a server of a Redis Cluster: name it as the others reach it, redis://HOST:PORT, and "
                + "leave out cluster.redis.sentinels"
        case (.single, .cluster), (.sentinel, .cluster):
            "it is a server of a Redis Cluster, but cluster.redis.mode is \(self): set it to cluster"
        case (.cluster, .standalone):
            "it is not a server of a Redis Cluster (cluster-enabled no), but cluster.redis.mode is "
                + "cluster: set it to single, or to sentinel"
        default: nil
        }
    }
}

/// What sends the webhooks of events that a cluster's leader has read.
package protocol QueuedEventSender: Sendable {
    /// Sends the webhooks of events, in their order; see ``Webhooks/send(_:)``.
    func send(_ events: [QueuedEvent])
    /// Stops sending those of queues that another node may lead; see ``Webhooks/withdraw(queues:)``.
    func withdraw(queues: Set<Int>)
    /// The number of events that are not processed yet.
    var queuedEventCount: Int { get }
}
