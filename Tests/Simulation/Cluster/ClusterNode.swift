import BrokerConfiguration
import Cluster
import Net
import Redis
import RedisModel
import Shard

/// A broker of the simulated cluster.
final class ClusterNode {
    let number: Int
    let broker: SimulatedBroker
    let dialer: NodeDialer
    let dispatcher = NodeDispatcher()
    let shardCount: Int
    /// Whether its process stands still.
    var isPaused = false
    /// When it goes on.
    var pausedUntil = 0
    /// When it went on last; 0 if it was never paused.
    var resumedAt = 0
    /// Whether clients can connect to it.
    private(set) var isReady = false
    private let cluster: ClusterSettings
    private let sharesNumber: Bool

    init(
        _ number: Int,
        shardCount: Int,
        _ redis: SimulatedRedis,
        _ sentinels: [SimulatedSentinel],
        _ environment: World.Environment,
        waitsForReplica: Bool,
        _ variant: ClusterVariant?
    ) throws {
        self.number = number
        self.shardCount = shardCount
        sharesNumber = variant == .duplicateSocketID
        var known = sentinels
        if variant == .singleSentinel, !known.isEmpty { known = [known[number % known.count]] }
        let configuration = ClusterScenario.configuration(
            waitsForReplica: waitsForReplica,
            sentinelCount: known.count
        )
        cluster = try ClusterSettings(
            configuration.cluster,
            port: nil,
            shardCount: shardCount,
            life: UInt32(number),
            log: ClusterScenario.silence,
            webhooks: dispatcher
        )
        dialer = NodeDialer(number, redis, known, environment)
        let clock = environment.clock(since: ClusterScenario.epoch / 1_000)
        broker = try SimulatedBroker(
            configuration,
            clocks: Array(repeating: clock, count: shardCount),
            random: { environment.random.next() },
            cluster: cluster,
            dialer: dialer
        )
        broker.joinCluster()
    }

    var name: String { "node \(number)" }

    /// Runs one turn of each shard, unless the process stands still.
    func turn() {
        guard !isPaused else { return }
        for shard in 0..<shardCount { turn(shard) }
    }

    /// Runs one turn of a shard, unless the process stands still.
    func turn(_ shard: Int) {
        guard !isPaused else { return }
        broker.turn(shard)
        guard !isReady, let number = cluster.numberIfReady(shardCount: shardCount) else { return }
        isReady = true
        broker.use(
            socketIDBase: ClusterSettings.socketIDBase(ofNode: sharesNumber ? 1 : number)
        )
    }
}

/// Connects a node to the server that its address leads to, and to the Sentinels that it knows.
final class NodeDialer: RedisDialer {
    private let node: Int
    private let redis: SimulatedRedis
    private let sentinels: [SimulatedSentinel]
    private let environment: World.Environment
    /// The server to which the address leads for this node; `nil` for the primary.
    weak var stale: SimulatedRedis.Process?
    /// Whether the node reaches no server and no Sentinel.
    var isCutOff = false
    /// The Sentinels that the node does not reach, by their numbers.
    var unreachedSentinels: Set<Int> = []

    init(
        _ node: Int,
        _ redis: SimulatedRedis,
        _ sentinels: [SimulatedSentinel],
        _ environment: World.Environment
    ) {
        (self.node, self.redis, self.environment) = (node, redis, environment)
        self.sentinels = sentinels
    }

    func dial(_ server: DialedServer, shard: Int) throws(SystemError) -> FileDescriptor {
        let (pipe, end) = try Pipe.make(bufferSize: 200_000)
        switch server {
        case .primary(let address): connect(pipe, to: address, shard: shard, confirms: false)
        case .confirmations(let address): connect(pipe, to: address, shard: shard, confirms: true)
        case .sentinel(let index): connect(pipe, to: sentinels[index], shard: shard)
        }
        return try FileDescriptor(end, from: "socketpair")
    }

    private func connect(
        _ pipe: Pipe,
        to address: RedisURL.Location,
        shard: Int,
        confirms: Bool
    ) {
        guard !isCutOff, let process = process(at: address) else { return pipe.close() }
        redis.accept(pipe, by: process, node: node, shard: shard, confirms: confirms)
    }

    private func connect(_ pipe: Pipe, to sentinel: SimulatedSentinel, shard: Int) {
        guard !isCutOff, !sentinel.isAway, !unreachedSentinels.contains(sentinel.number) else {
            return pipe.close()
        }
        sentinel.accept(pipe, node: node, shard: shard)
    }

    /// The process at an address; the one of a node without Sentinels leads to the primary, or wherever it is led.
    private func process(at address: RedisURL.Location) -> SimulatedRedis.Process? {
        guard !sentinels.isEmpty else { return stale ?? redis.primary }
        return redis.running.first { process in
            let server = SimulatedRedis.address(of: process.server)
            return address == .host(server.host, port: server.port)
        }
    }

    func random() -> UInt64 { environment.random.next() }
}
