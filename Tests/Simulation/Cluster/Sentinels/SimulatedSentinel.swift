import RedisModel

/// A Sentinel of a simulated cluster: whom it reaches, what it has seen of the servers, and the connections of nodes.
final class SimulatedSentinel {
    let number: Int
    private(set) var model: ModelSentinel
    /// The connections of nodes, by their number here.
    private(set) var links: [ModelSentinel.Connection: RedisLink] = [:]

    // Faults.

    /// The servers that it does not reach.
    var unreachedServers: Set<Int> = []
    /// Whether it reaches no other Sentinel.
    var isAlone = false
    /// Whether no node reaches it.
    var isAway = false
    /// Injected fault: whether it does not announce another primary.
    let isSilent: Bool

    // What it has seen; times in milliseconds.

    /// When each server has answered last.
    var answeredAt: [Int: Int] = [:]
    /// Since when a server takes itself for a primary that is none.
    var primarySince: [Int: Int] = [:]
    /// The last epoch in which it has voted for a leader.
    var votedEpoch = 0
    /// When it has last voted, and so does not want to lead for some time.
    var votedAt = -1_000_000
    /// When it tells others next which primary it names.
    var tellsAt: Int
    /// The replica that it has promoted, which it names as soon as it has seen that that one is a primary.
    var promoted: (server: Int, epoch: Int, seenAt: Int)?

    /// The name of the primary.
    static let name = "main"

    init(_ number: Int, naming server: Int, at time: Int, isSilent: Bool) {
        self.number = number
        self.isSilent = isSilent
        let digits = String(number)
        model = ModelSentinel(
            run: String(repeating: "a", count: 40 - digits.count) + digits,
            startedAt: ClusterScenario.epoch
        )
        model.monitor(Self.name, SimulatedRedis.address(of: server))
        self.server = server
        tellsAt = time
    }

    /// The server that it names.
    private(set) var server: Int
    /// The epoch in which it began to.
    var epoch: Int { model.epoch(Self.name) }

    func reaches(_ process: SimulatedRedis.Process) -> Bool {
        !unreachedServers.contains(process.server)
    }

    /// Names another server from now on, and announces it.
    func name(_ server: Int, in epoch: Int) {
        self.server = server
        promoted = nil
        let address = SimulatedRedis.address(of: server)
        let outputs = model.switchPrimary(Self.name, to: address, epoch: epoch)
        for output in outputs where !isSilent && links[output.connection]?.former == nil {
            links[output.connection]?.enqueue(output.value)
        }
    }

    // MARK: - Connections

    /// The connections in the order in which they were opened.
    var orderedLinks: [RedisLink] { links.sorted { $0.key < $1.key }.map(\.value) }

    /// The connections over which an announcement arrives.
    var hearing: [RedisLink] {
        model.subscribers.compactMap { links[$0] }
            .filter { !$0.isDeaf && !$0.isMute && $0.former == nil }
    }

    func accept(_ pipe: Pipe, node: Int, shard: Int) {
        let connection = model.connect()
        links[connection] = RedisLink(
            pipe,
            connection,
            to: .sentinel(self),
            node: node,
            shard: shard
        )
    }

    /// Called when a connection is closed.
    func forget(_ connection: ModelSentinel.Connection) {
        links[connection] = nil
        model.disconnect(connection)
    }

    /// Executes a command of a connection.
    func execute(_ command: [ByteString], of link: RedisLink, at time: Int64) {
        let kept = link.former?.execute(command, of: link.connection, at: time)
        for output in kept ?? model.execute(command, of: link.connection, at: time) {
            links[output.connection]?.enqueue(output.value)
        }
    }
}
