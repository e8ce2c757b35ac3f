import Redis
import TestPorts
import TestRedis
import Testing

/// A server of a Redis Cluster, with an address on this machine.
struct RedisClusterServer {
    let redis: RedisProcess
    let id: String
    private let port: UInt16
    private let busPort: UInt16

    /// Starts a server that knows no other and has no slots.
    init(needsAllSlots: Bool = false) throws {
        func start() throws -> (port: UInt16, busPort: UInt16, redis: RedisProcess, id: String) {
            let (port, busPort) = (freePort(), freePort())
            let redis = try RedisProcess([
                "--port", "\(port)", "--bind", "127.0.0.1", "--cluster-enabled", "yes",
                "--cluster-port", "\(busPort)", "--cluster-node-timeout", "5000",
                "--cluster-require-full-coverage", needsAllSlots ? "yes" : "no",
                "--repl-diskless-sync-delay", "0",
            ])
            // A server that does not get the port of its bus ends behind opening its socket.
            return (port, busPort, redis, try redis.command("CLUSTER", "MYID"))
        }
        // Something else may take a port meanwhile.
        (port, busPort, redis, id) = try (try? start()) ?? start()
    }

    /// Starts three primaries, each with a third of the slots.
    static func three() async throws -> [RedisClusterServer] {
        let servers = try (0..<3).map { _ in try RedisClusterServer() }
        for (index, server) in servers.enumerated() {
            try server.redis.command("CLUSTER", "SET-CONFIG-EPOCH", "\(index + 1)")
            try server.add(slots: bounds[index]...(bounds[index + 1] - 1))
        }
        for server in servers.dropFirst() { try servers[0].meet(server) }
        for server in servers {
            for line in [
                "cluster_known_nodes:3", "cluster_slots_assigned:\(SlotMap.slotCount)",
                "cluster_state:ok",
            ] {
                try await server.wait(for: line)
            }
        }
        return servers
    }

    /// The first slot of each of ``three()``, and the number of slots.
    private static let bounds = [0, 5_461, 10_923, SlotMap.slotCount]

    /// The index among ``three()`` of the server that has a slot at first.
    static func owner(of slot: Int) -> Int { slot < bounds[1] ? 0 : slot < bounds[2] ? 1 : 2 }

    var address: String { "redis://127.0.0.1:\(port)" }

    func add(slots: ClosedRange<Int>) throws {
        let bounds = ["\(slots.lowerBound)", "\(slots.upperBound)"]
        let reply = try redis.command(["CLUSTER", "ADDSLOTSRANGE"] + bounds)
        try #require(reply == "+OK", "\(reply)")
    }

    func meet(_ other: RedisClusterServer) throws {
        try redis.command("CLUSTER", "MEET", "127.0.0.1", "\(other.port)", "\(other.busPort)")
    }

    /// Waits until `CLUSTER INFO` contains a line.
    func wait(for line: String) async throws {
        try await eventually {
            try redis.command("CLUSTER", "INFO").split(whereSeparator: \.isNewline)
                .contains { $0 == line }
        }
    }

    /// The keys of a slot.
    func keys(in slot: Int) throws -> [String] {
        let script =
            "return table.concat(redis.call('CLUSTER', 'GETKEYSINSLOT', ARGV[1], 1000), '\\n')"
        return try redis.command("EVAL", script, "0", "\(slot)").split(separator: "\n")
            .map(String.init)
    }

    /// Moves a slot with its keys to another server, as `redis-cli --cluster reshard` does, but one key at a time.
    func move(_ slot: Int, to other: RedisClusterServer) async throws {
        func set(_ server: RedisClusterServer, _ state: String, _ id: String) throws {
            let reply = try server.redis.command("CLUSTER", "SETSLOT", "\(slot)", state, id)
            try #require(reply == "+OK", "\(reply)")
        }
        try set(other, "IMPORTING", id)
        try set(self, "MIGRATING", other.id)
        while let key = try keys(in: slot).first {
            let reply = try redis.command("MIGRATE", "127.0.0.1", "\(other.port)", key, "0", "5000")
            try #require(reply == "+OK" || reply == "+NOKEY", "\(reply)")
        }
        for server in [other, self] { try set(server, "NODE", other.id) }
    }

    /// Starts a replica of this server that has all of its data, and that other servers know.
    func replica(knownTo others: [RedisClusterServer]) async throws -> RedisClusterServer {
        let replica = try RedisClusterServer()
        try meet(replica)
        try await replica.wait(for: "cluster_known_nodes:\(others.count + 1)")
        try replica.redis.command("CLUSTER", "REPLICATE", id)
        let line = "\(replica.id) 127.0.0.1:\(replica.port)@\(replica.busPort) slave \(id) "
        for server in others {
            try await eventually { try server.redis.command("CLUSTER", "NODES").contains(line) }
        }
        try await eventually {
            try replica.redis.command("INFO", "replication").contains("master_link_status:up")
        }
        return replica
    }
}
