import Redis
import RedisModel

/// The Redis servers of a simulated cluster: a primary with a replica behind a delayed log, and former primaries.
final class SimulatedRedis {
    /// A server process.
    final class Process {
        let number: Int
        /// The number of its server, which a process that is started in its place has too.
        let server: Int
        var model: ModelServer
        /// The connection that sees what is published, in the order of execution.
        let witness: ModelServer.Connection
        /// The connections of nodes, by their number on the server.
        var links: [ModelServer.Connection: RedisLink] = [:]

        init(
            _ number: Int,
            on server: Int,
            _ model: consuming ModelServer,
            topics: [String]
        ) {
            (self.number, self.server) = (number, server)
            self.model = model
            witness = self.model.connect()
            _ = self.model.execute(["SUBSCRIBE"] + topics.map { ByteString($0) }, of: witness)
        }

        /// The connections in the order in which they were opened.
        var orderedLinks: [RedisLink] { links.sorted { $0.key < $1.key }.map(\.value) }
    }

    /// Called with what a server publishes for a connection; for none by itself.
    var published: (_ text: String, Process, RedisLink?) throws -> Void = { _, _, _ in }
    /// Where the address of the primary leads; it may have ended.
    private(set) var primary: Process
    /// The primary, unless it has ended, and former ones that still answer.
    private(set) var processes: [Process]
    /// The primary and former ones that have ended, to be started again.
    private(set) var ended: [Process] = []
    /// What follows the primary; `nil` if nothing does.
    private(set) var replica: Process?
    /// The number of the primary's writes that the replica has.
    private var replicaOffset = 0
    /// Whether the replica gets no writes at present.
    var isReplicaHeld = false
    /// Whether what a connection publishes reaches itself only behind the reply, as since Redis 7.2.
    private let pushesFollowReply: Bool
    /// What servers run in the place of the nodes' scripts, by these' digests.
    private let scripts: [String: ByteString]
    private let topics: [String]
    /// The injected bug.
    private var fault: ClusterFault?
    private var processCount = 1
    private var linkCount = 0
    /// Whether a server has lost data that another one had.
    private(set) var hasLostData = false

    /// Starts a primary with a replica.
    ///
    /// - Parameters:
    ///   - topics: The pub/sub channels whose messages are reported.
    ///   - time: The time in milliseconds since 1970.
    ///   - pushesFollowReply: Whether what a connection publishes reaches itself only behind the reply.
    ///   - variant: A bug in the scripts, or in replies.
    init(topics: [String], time: Int64, pushesFollowReply: Bool, variant: ClusterVariant? = nil) {
        self.topics = topics
        self.pushesFollowReply = pushesFollowReply
        fault = variant.map(ClusterFault.init)
        scripts = SimulatedScripts.edited(by: variant?.scriptEdit)
        primary = Self.start(1, on: 1, scripts, topics, time)
        processes = [primary]
        primary.model.pushesFollowReply = pushesFollowReply
        addReplica()
    }

    private static let replicaName = "replica"

    /// Where nodes reach a server, if Sentinels name it.
    static func address(of server: Int) -> ModelSentinel.Server {
        .init(host: "10.0.0.\(server)", port: 6_379)
    }

    private static func start(
        _ number: Int,
        on server: Int,
        _ scripts: [String: ByteString],
        _ topics: [String],
        _ time: Int64
    ) -> Process {
        var model = ModelServer(
            identity: .init(run: runID(number), replication: runID(-number), startedAt: time),
            time: time
        )
        model.editedScripts = scripts
        let process = Process(number, on: server, model, topics: topics)
        // The replica has to know them too.
        for script in SimulatedScripts.ofNodes {
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
        guard let replica, isRunning(primary) else { return }
        let writes = primary.model.writes(from: replicaOffset).prefix(count)
        for write in writes { replica.model.replicate(write) }
        replicaOffset += writes.count
        primary.model.forgetWrites(before: replicaOffset)
        let outputs = primary.model.acknowledge(replicaOffset, by: Self.replicaName)
        try route(outputs, of: primary, for: nil)
    }

    /// The messages in the primary's streams that another process has never had; what it has had, and has removed as the oldest,
    /// is not lost.
    func tail(behind process: Process) -> [String] {
        ClusterScenario.channels.flatMap { channel in
            ClusterScenario.keys.flatMap { keys in
                let app = Scenario.appIDs[channel.app]
                let channel = ClusterChannel(app: app, name: channel.name)
                let key = ByteString(keys.messages(channel).description)
                let known = process.model.data[stream: key]
                let texts = Set(known?.entries.map(\.text) ?? [])
                let first = known.map { $0.entries.first?.id ?? $0.lastID } ?? .init(0, 0)
                let entries = primary.model.data[stream: key]?.entries ?? []
                return entries.filter { $0.id > first && !texts.contains($0.text) }
                    .map(\.text.description)
            }
        }
    }

    // MARK: - Servers

    /// Whether a process has not ended.
    func isRunning(_ process: Process) -> Bool { running.contains { $0 === process } }

    /// All processes that have not ended.
    var running: [Process] { processes + (replica.map { [$0] } ?? []) }

    /// The former primaries that still answer.
    var former: [Process] { processes.filter { $0 !== primary } }

    /// The process on a server; `nil` if it has ended.
    func process(on server: Int) -> Process? { running.first { $0.server == server } }

    /// Makes the replica the primary, or a former primary again, with what it has.
    ///
    /// The one until now goes on until it follows, is demoted or stopped.
    func promote(_ process: Process, at time: Int64) {
        if process === replica {
            replica = nil
            processCount += 1
            process.model.promote(replication: Self.runID(-processCount))
            _ = process.model.advance(to: time)
        } else {
            processes.removeAll { $0 === process }
        }
        succeed(process)
    }

    /// Replaces the primary by an empty one on the same server.
    func startEmpty(at time: Int64) {
        let (former, follower) = (primary, replica.take())
        processCount += 1
        succeed(Self.start(processCount, on: former.server, scripts, topics, time))
        stop(former)
        if let follower { follow(follower) }
    }

    private func succeed(_ process: Process) {
        hasLostData = true
        _ = primary.model.acknowledge(nil, by: Self.replicaName)
        process.model.pushesFollowReply = pushesFollowReply
        primary = process
        processes.append(process)
        isReplicaHeld = false
    }

    /// Starts another server, which follows the primary.
    func addReplica() {
        processCount += 1
        let model = primary.model.makeReplica(run: Self.runID(processCount))
        follow(Process(processCount, on: processCount, model, topics: topics))
    }

    /// Makes a former primary follow the present one, whose data it gets instead of its own.
    func follow(_ process: Process) {
        for link in process.orderedLinks { link.close() }
        processes.removeAll { $0 === process }
        process.model.follow(primary.model)
        replica = process
        replicaOffset = primary.model.writeCount
        _ = primary.model.acknowledge(replicaOffset, by: Self.replicaName)
    }

    /// Makes a former primary a replica that gets no data, and answers and refuses writes.
    func demote(_ process: Process) { process.model.demote() }

    /// Ends a server and its connections.
    func stop(_ process: Process) {
        for link in process.orderedLinks { link.close() }
        processes.removeAll { $0 === process }
        if replica === process { replica = nil }
    }

    /// Ends a server, which may be started again.
    func kill(_ process: Process) {
        stop(process)
        ended.append(process)
    }

    /// Starts the servers again that have ended, as primaries, which they still take themselves for, with all that they had.
    func restartEnded(at time: Int64) {
        for process in ended { restart(process, at: time) }
        ended = []
    }

    private func restart(_ ended: Process, at time: Int64) {
        processCount += 1
        let process = Self.start(processCount, on: ended.server, scripts, topics, time)
        process.model.data = ended.model.data
        process.model.pushesFollowReply = pushesFollowReply
        _ = process.model.advance(to: time)
        processes.append(process)
        guard ended === primary else { return }
        primary = process
        if let replica { follow(replica) }
    }

    // MARK: - Connections

    func accept(_ pipe: Pipe, by process: Process, node: Int, shard: Int, confirms: Bool) {
        let connection = process.model.connect()
        linkCount += 1
        process.links[connection] = RedisLink(
            pipe,
            connection,
            to: .redis(process, confirms: confirms, openedAt: linkCount),
            node: node,
            shard: shard
        )
    }

    /// Whether a node has connected again since.
    func isAbandoned(_ link: RedisLink) -> Bool {
        guard case .redis(_, let confirms, let openedAt) = link.end else { return false }
        return links.contains { other in
            guard case .redis(_, confirms, let time) = other.end, time > openedAt else {
                return false
            }
            return other.node == link.node && other.shard == link.shard
        }
    }

    /// All connections, in a fixed order.
    var links: [RedisLink] { running.flatMap(\.orderedLinks) }

    /// Executes a command of a connection.
    func execute(_ command: [ByteString], at process: Process, of link: RedisLink) throws {
        let forged = fault?.reply(to: command, by: &process.model, of: link)
        if let forged { return link.enqueue(forged) }
        let outputs = process.model.execute(command, of: link.connection)
        for killed in process.model.takeKilled() { process.links[killed]?.close() }
        try route(outputs, of: process, for: link)
        for push in fault?.pushes(behind: command, to: link) ?? [] { link.enqueue(push) }
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
            } else if let link = process.links[output.connection] {
                fault?.note(output.value, to: link)
                link.enqueue(output.value)
            }
        }
    }
}
