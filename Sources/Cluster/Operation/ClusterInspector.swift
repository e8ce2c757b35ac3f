package import BrokerConfiguration
package import Net
import RESP
import Redis

/// Queries the servers of a cluster from outside of a broker: for `fanfare nodes` and `fanfare check`, and before a
/// start.
package struct ClusterInspector: Sendable {
    /// The keys of each partition.
    let keys: [PartitionKeys]
    let configuration: ClusterConfiguration
    private let stores: [StoreAddress]
    private let tls: TLSContext?
    private let settings: RedisSettings

    /// A server that cannot be queried, and the reason.
    package struct Failure: Error, CustomStringConvertible {
        /// The address of the server, without its password.
        package let server: String
        /// A clause for the operator.
        package let reason: String

        package var description: String { "\(server): \(reason)" }
    }

    /// Creates an inspector.
    ///
    /// - Parameter configuration: A valid configuration with an engine.
    /// - Throws: The reason why the file of certificates cannot be used.
    package init(_ configuration: ClusterConfiguration) throws(TLSError) {
        let redis = configuration.redis
        self.configuration = configuration
        keys = PartitionKeys.all(prefix: configuration.prefix, count: configuration.partitions)
        stores = redis.stores
        tls = try redis.tls()
        settings = RedisSettings(
            username: redis.username,
            password: redis.password,
            clientName: "fanfare",
            openTimeout: .seconds(3)
        )
    }

    /// Finds the servers.
    ///
    /// - Returns: The servers, those of a Redis Cluster as it lists them.
    /// - Throws: The reason why no server of a Redis Cluster lists the others.
    package func servers() async throws(Failure) -> ClusterServers {
        let mode = configuration.redis.mode
        if mode == .cluster || mode == .auto && configuration.redis.sentinels.isEmpty {
            if let servers = try await serversOfRedisCluster() { return servers }
        }
        let count = stores.count
        return ClusterServers(
            stores.enumerated()
                .map { number, address in
                    ClusterServer(
                        address,
                        partitions: Array(stride(from: number, to: keys.count, by: count)),
                        layout: "\(keys.count) partitions, server \(number + 1) of \(count)"
                    )
                }
        )
    }

    /// Sends commands to a server, and waits for all replies.
    func ask(
        _ server: ClusterServer,
        _ commands: [[String]]
    ) async throws(Failure) -> RedisExchange {
        try await ask(try await primary(of: server.address), settings, commands)
    }

    /// Queries one server after the other, until one lists all of a Redis Cluster.
    ///
    /// - Returns: The servers; `nil` if the first that answers is standalone, or none answers.
    private func serversOfRedisCluster() async throws(Failure) -> ClusterServers? {
        var settings = settings
        settings.requiresPrimary = false
        var failure: Failure?
        for seed in stores {
            let questions = [["CLUSTER", "INFO"], ["CLUSTER", "SHARDS"]]
            guard let exchange = try? await ask(seed.url, settings, questions) else { continue }
            guard exchange.server.mode == .cluster, case .host = seed.url.location else {
                return nil
            }
            let info = RedisClusterInfo(exchange.replies[0].text)
            if info.isHealthy, let map = SlotMap(exchange.replies[1], of: seed.url) {
                return servers(in: map, as: seed.url)
            }
            failure = Failure(
                server: "\(seed.url)",
                reason: exchange.replies.first(where: \.isError)?.text ?? info.fault
                    ?? "its reply to CLUSTER SHARDS has an unknown form"
            )
        }
        if let failure { throw failure }
        return nil
    }

    private func servers(in map: SlotMap, as seed: RedisURL) -> ClusterServers {
        let partitions = Dictionary(grouping: keys.indices) { map.server(of: keys[$0]) }
        var servers = ClusterServers()
        for location in map.servers {
            guard let partitions = partitions[location] else { continue }
            var url = seed
            url.location = location
            servers.all.append(
                ClusterServer(
                    StoreAddress(url: url, sentinels: nil),
                    partitions: partitions,
                    layout: map[PartitionKeys.slot(ofKey: layoutKey)] == location
                        ? "\(keys.count) partitions, by slots" : nil,
                    isOfRedisCluster: true
                )
            )
        }
        if let uncovered = partitions[nil], let first = uncovered.first {
            servers.fault = Failure(
                server: "\(seed)",
                reason: "no server of the Redis Cluster has the slots of \(uncovered.count) of "
                    + "\(keys.count) partitions, such as \(keys[first].slot): their channels would be "
                    + "refused (CLUSTERDOWN); assign the slots, or wait until a replica is promoted"
            )
        }
        return servers
    }

    private func ask(
        _ url: RedisURL,
        _ settings: RedisSettings,
        _ commands: [[String]]
    ) async throws(Failure) -> RedisExchange {
        do {
            return try await RedisExchange.run(commands, at: url, tls: tls, settings)
        } catch {
            throw Failure(server: "\(url)", reason: "\(error)")
        }
    }

    /// The address of a primary; with Sentinels, the one that more than half of them name.
    private func primary(of address: StoreAddress) async throws(Failure) -> RedisURL {
        var url = address.url
        guard let watch = address.sentinels else { return url }
        let (name, sentinels) = (watch.name, watch.sentinels)
        var settings = settings
        settings.requiresPrimary = false
        var votes: [RedisURL.Location: Int] = [:]
        for sentinel in sentinels {
            let question = [["SENTINEL", "GET-MASTER-ADDR-BY-NAME", name]]
            guard let answer = try? await ask(sentinel, settings, question).replies.first,
                answer.elements.count == 2, let port = UInt16(answer.elements[1].text)
            else { continue }
            votes[.host(answer.elements[0].text, port: port), default: 0] += 1
        }
        guard let (location, count) = votes.max(by: { $0.value < $1.value }),
            count > sentinels.count / 2
        else {
            throw Failure(
                server: name,
                reason: "no majority of the \(sentinels.count) Sentinels names a primary"
            )
        }
        url.location = location
        return url
    }
}

/// The servers that have the partitions.
package struct ClusterServers: Sendable {
    /// The servers.
    package var all: [ClusterServer]
    /// The part that none of them has; `nil` if they have everything.
    package var fault: ClusterInspector.Failure?

    /// Creates the list.
    package init(_ all: [ClusterServer] = [], fault: ClusterInspector.Failure? = nil) {
        (self.all, self.fault) = (all, fault)
    }
}

/// A server that has some of the partitions.
package struct ClusterServer: Sendable {
    let address: StoreAddress
    /// The numbers of its partitions.
    let partitions: [Int]
    /// The layout required of its data, on which all nodes of a deployment must agree; `nil` if another server has it.
    let layout: String?
    let isOfRedisCluster: Bool

    init(
        _ address: StoreAddress,
        partitions: [Int],
        layout: String?,
        isOfRedisCluster: Bool = false
    ) {
        self.address = address
        self.partitions = partitions
        self.layout = layout
        self.isOfRedisCluster = isOfRedisCluster
    }

    /// The address, without its password; with Sentinels, the name of the primary.
    package var name: String { "\(address.url)" }
}
