import Redis
import RedisModel

/// The Redis servers of a simulated cluster: a primary with a replica behind a delayed log, and former primaries.
final class SimulatedRedis {
    /// A server process.
    final class Process {
        let number: Int
        var model: ModelServer
        /// The connection that sees what is published, in the order of execution.
        let witness: ModelServer.Connection
        /// The connections of nodes, by their number on the server.
        var links: [ModelServer.Connection: RedisLink] = [:]

        init(_ number: Int, _ model: consuming ModelServer, topics: [String]) {
            self.number = number
            self.model = model
            witness = self.model.connect()
            _ = self.model.execute(["SUBSCRIBE"] + topics.map { ByteString($0) }, of: witness)
        }

        /// The connections in the order in which they were opened.
        var orderedLinks: [RedisLink] { links.sorted { $0.key < $1.key }.map(\.value) }
    }

    /// Called with what a server publishes for a connection; for none by itself.
    var published: (_ text: String, Process, RedisLink?) throws -> Void = { _, _, _ in }
    /// Where the address of the primary leads.
    private(set) var primary: Process
    /// The primary, and former ones that still answer.
    private(set) var processes: [Process]
    private var replica: ModelServer
    /// The number of the primary's writes that the replica has.
    private var replicaOffset: Int
    /// Whether the replica gets no writes at present.
    var isReplicaHeld = false
    /// Whether what a connection publishes reaches itself only behind the reply, as since Redis 7.2.
    private let pushesFollowReply: Bool
    /// Injected fault: whether each member of a dead node is removed twice.
    var reapsTwice = false
    /// Injected fault: whether a departure is told though its channel or member has come back.
    var keepsDepartures = false
    private let scripts = ClusterScripts(isSharded: false).all
    private let topics: [String]
    private var processCount = 1
    private var linkCount = 0
    /// Whether a server has lost data that another one had.
    private(set) var hasLostData = false

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - topics: The pub/sub channels whose messages are reported.
    ///   - time: The time in milliseconds since 1970.
    ///   - pushesFollowReply: Whether what a connection publishes reaches itself only behind the reply.
    init(topics: [String], time: Int64, pushesFollowReply: Bool) {
        self.topics = topics
        self.pushesFollowReply = pushesFollowReply
        primary = Self.start(1, scripts, topics, time)
        processes = [primary]
        replica = primary.model.makeReplica(run: Self.runID(2))
        replicaOffset = primary.model.writeCount
        primary.model.pushesFollowReply = pushesFollowReply
        _ = primary.model.acknowledge(replicaOffset, by: Self.replicaName)
    }

    private static let replicaName = "replica"

    private static func start(
        _ number: Int,
        _ scripts: [RedisScript],
        _ topics: [String],
        _ time: Int64
    ) -> Process {
        let names = Dictionary(uniqueKeysWithValues: scripts.map { ($0.digest, $0.name) })
        let model = ModelServer(
            scripts: .init(names: names, webhooksMax: 100),
            identity: .init(run: runID(number), replication: runID(-number), startedAt: time),
            time: time
        )
        let process = Process(number, model, topics: topics)
        // The replica has to know them too.
        for script in scripts {
            let command: [ByteString] = ["SCRIPT", "LOAD", ByteString(script.source)]
            _ = process.model.execute(command, of: process.witness)
        }
        return process
    }

    /// 40 hexadecimal digits; those of a negative number stand for a history of data.
    private static func runID(_ number: Int) -> String {
        let digits = String(abs(number), radix: 16)
        let first = number < 0 ? "d" : "e"
        return first + String(repeating: "0", count: 39 - digits.count) + digits
    }

    // MARK: - Time and replication

    func advance(to time: Int64) throws {
        for process in processes {
            try route(process.model.advance(to: time).outputs, of: process, for: nil)
        }
    }

    /// Passes up to `count` writes of the primary to its replica.
    func replicate(_ count: Int = .max) throws {
        let writes = primary.model.writes(from: replicaOffset).prefix(count)
        for write in writes { replica.replicate(write) }
        replicaOffset += writes.count
        primary.model.forgetWrites(before: replicaOffset)
        let outputs = primary.model.acknowledge(replicaOffset, by: Self.replicaName)
        try route(outputs, of: primary, for: nil)
    }

    /// The messages in the primary's streams that the replica has not got.
    func tail() -> [String] {
        ClusterScenario.channels.flatMap { channel in
            ClusterScenario.keys.flatMap { keys in
                let app = Scenario.appIDs[channel.app]
                let channel = ClusterChannel(app: app, name: channel.name)
                let key = ByteString(keys.messages(channel).description)
                let last = replica.data[stream: key]?.lastID
                let entries = primary.model.data[stream: key]?.entries ?? []
                return entries.filter { entry in last.map { $0 < entry.id } ?? true }
                    .map { $0.text.description }
            }
        }
    }

    // MARK: - Failover

    /// Makes the replica the primary, with what it has; the former one goes on until it is demoted or stopped.
    func promote(at time: Int64) {
        processCount += 2
        replica.promote(replication: Self.runID(-processCount))
        _ = replica.advance(to: time)
        succeed(Process(processCount, replica, topics: topics))
    }

    /// Replaces the primary by an empty one.
    func startEmpty(at time: Int64) {
        let former = primary
        processCount += 2
        succeed(Self.start(processCount, scripts, topics, time))
        stop(former)
    }

    private func succeed(_ process: Process) {
        hasLostData = true
        _ = primary.model.acknowledge(nil, by: Self.replicaName)
        process.model.pushesFollowReply = pushesFollowReply
        primary = process
        processes.append(process)
        replica = process.model.makeReplica(run: Self.runID(processCount + 1))
        replicaOffset = process.model.writeCount
        _ = process.model.acknowledge(replicaOffset, by: Self.replicaName)
        isReplicaHeld = false
    }

    /// Makes a former primary a replica, which answers and refuses writes.
    func demote(_ process: Process) { process.model.demote() }

    /// Ends a server and its connections.
    func stop(_ process: Process) {
        for link in process.orderedLinks { link.close() }
        processes.removeAll { $0 === process }
    }

    // MARK: - Connections

    func accept(_ pipe: Pipe, by process: Process, node: Int, shard: Int, confirms: Bool) {
        let connection = process.model.connect()
        linkCount += 1
        let link = RedisLink(
            pipe,
            connection,
            of: process,
            node: node,
            shard: shard,
            confirms: confirms,
            at: linkCount
        )
        process.links[connection] = link
    }

    /// Whether a node has connected again since.
    func isAbandoned(_ link: RedisLink) -> Bool {
        links.contains {
            $0.node == link.node && $0.shard == link.shard && $0.confirms == link.confirms
                && $0.openedAt > link.openedAt
        }
    }

    /// All connections, in a fixed order.
    var links: [RedisLink] { processes.flatMap(\.orderedLinks) }

    /// Executes up to `count` commands of a connection.
    ///
    /// - Returns: The number of commands.
    func execute(_ count: Int, of link: RedisLink) throws -> Int {
        let process = link.process
        var executed = 0
        while executed < count, !link.commands.isEmpty, process.links[link.connection] === link {
            let command = link.commands.removeFirst()
            executed += 1
            if reapsTwice { reapFirst(command, of: process) }
            let kept = keepsDepartures ? departures(at: process, before: command) : nil
            let outputs = process.model.execute(command, of: link.connection)
            for (due, departure, time) in kept ?? [] {
                process.model.data[sorted: due][departure] = time
            }
            for killed in process.model.takeKilled() { process.links[killed]?.close() }
            try route(outputs, of: process, for: link)
        }
        return executed
    }

    private func route(
        _ outputs: [ModelServer.Output],
        of process: Process,
        for link: RedisLink?
    ) throws {
        for output in outputs {
            if output.connection == process.witness {
                let elements = output.value.elements
                guard elements.count == 3, elements[0].string == "message" else { continue }
                try published("\(elements[2].string ?? "")", process, link)
            } else {
                process.links[output.connection]?.enqueue(output.value)
            }
        }
    }

    private func isCall(_ command: [ByteString], of name: String) -> Bool {
        guard command.count > 3, command[0] == "EVALSHA" else { return false }
        return scripts.contains { $0.name == name && command[1] == ByteString($0.digest) }
    }

    /// Injected fault: the departures that an arrival would end.
    private func departures(
        at process: Process,
        before command: [ByteString]
    ) -> [(due: ByteString, departure: ByteString, time: Int64)] {
        let due: ByteString
        if isCall(command, of: "join") {
            due = command[3 + 4]
        } else if isCall(command, of: "attach") {
            due = command[3 + 9]
        } else {
            return []
        }
        return process.model.data[sorted: due].entries
            .filter { ["v", "m"].contains($0.member.parts(2, by: ":")[0]) }
            .map { (due, $0.member, $0.score) }
    }

    /// Injected fault: takes a node from the members of a dead node, which its removal takes again.
    private func reapFirst(_ command: [ByteString], of process: Process) {
        guard isCall(command, of: "reap") else { return }
        let (users, members) = (command[3 + 8], command[3 + 9])
        for user in process.model.data[set: users] {
            guard let count = process.model.data[hash: members][user]?.integer, count > 1 else {
                continue
            }
            process.model.data[hash: members][user] = ByteString(count - 1)
        }
    }
}
