import Net
import RESP
import Redis
import RedisModel
import TestRedis
import Testing

/// The same calls to a real server and to the model, which run the same scripts but for their clock.
///
/// It is a key of the real server, which moves with the model's. By Redis's own clock, which moves with the speed of the
/// machine, keys expire a thousand times later; those that expire in the model are removed from the server.
final class Differential {
    /// Where the two differ.
    struct Difference: Error, CustomStringConvertible {
        let description: String
    }

    private static let clock = "clock"
    private static let lifetimeScale: Int64 = 1_000
    static let partitions = PartitionKeys.all(prefix: "f", count: 2, poolCount: 1)
    static let keys = partitions[0]

    /// The scripts of both.
    let scripts: ClusterScripts
    private(set) var model: ModelServer
    private let modelConnection: ModelServer.Connection
    private var modelPushes: [RESPValue] = []
    private let redis: RedisProcess
    private let reactor: Reactor
    private let start = MonotonicTime.current
    private let transcript = Transcript()
    private let connection: RedisConnection
    /// The calls that the server has not answered, with the model's replies.
    private var expected: [(name: String, command: [ByteString], reply: RESPValue)] = []
    /// The number of calls.
    private(set) var callCount = 0
    /// What calls led to: the script, and an error's code or the first number or word of the reply.
    private(set) var outcomes: Set<String> = []

    /// Starts a server.
    ///
    /// - Parameter webhooksMax: The most webhooks that wait.
    /// - Throws: A failure of the server, or an issue.
    init(webhooksMax: Int = 20) throws {
        scripts = ClusterScripts(
            clock: Self.clock,
            lifetimeScale: Int(Self.lifetimeScale),
            webhooksMax: webhooksMax
        )
        // With one entry a node, approximate trimming is exact.
        redis = try RedisProcess(["--stream-node-max-entries", "1"])
        reactor = try Reactor(loop: EventLoop(name: "test"))
        var settings = LiveRedis.patience
        settings.scripts = scripts.all
        connection = RedisConnection.connect(
            to: try redis.url,
            settings: settings,
            on: reactor,
            delegate: transcript
        )
        model = ModelServer(
            identity: .init(run: ClusterStore.runID("1"), replication: "r1", startedAt: 0)
        )
        let plain = ClusterScripts(isSharded: false, webhooksMax: webhooksMax).all
        for (script, plain) in zip(scripts.all, plain) {
            model.editedScripts[script.digest] = ByteString(plain.source)
        }
        modelConnection = model.connect()
        for script in scripts.all {
            _ = model.execute(["SCRIPT", "LOAD", ByteString(script.source)], of: modelConnection)
        }
        try run { transcript.isOpen }
        let topics = Self.partitions.flatMap { RandomCalls.topics($0) }
        try connection.subscribe(to: topics)
        _ = execute(["SUBSCRIBE"] + topics.map { ByteString($0) })
        try call("SET", Self.clock, "\(model.time)")
        try settle()
    }

    deinit { reactor.shutDown() }

    private func run(until condition: () -> Bool) throws {
        let deadline = MonotonicTime.current.advanced(by: .seconds(60))
        while !condition() {
            guard MonotonicTime.current < deadline, transcript.fault == nil else {
                throw Difference(description: "no reply: \(String(describing: transcript.fault))")
            }
            reactor.poll(atMost: .milliseconds(100))
            reactor.flush()
        }
    }

    // MARK: Calls

    /// Moves both clocks.
    func wait(_ time: Int64) throws {
        guard time > 0 else { return }
        let expired = model.advance(to: model.time + time).expired
        try call("SET", Self.clock, "\(model.time)")
        for key in expired { try call("DEL", key.description) }
    }

    /// Sends a command to the server alone, and ignores the reply.
    private func call(_ arguments: String...) throws {
        transcript.ignored.insert(
            try connection.call(argumentCount: arguments.count) { writer in
                for argument in arguments { writer.argument(argument) }
            }
        )
    }

    /// Sends a call to both.
    func send(_ call: ScriptCall) throws {
        var decoder = CommandDecoder()
        for command in try decoder.receive(call.bytes) {
            let replies = execute(command)
            guard replies.count == 1 else { throw Difference(description: "no reply of the model") }
            expected.append((call.script.name, command, replies[0]))
            record(replies[0], of: call.script.name)
        }
        callCount += 1
        try connection.send(call)
    }

    /// Sends a command that reads to both.
    func read(_ command: [String]) throws {
        let bytes = command.map { ByteString($0) }
        expected.append((command[0], bytes, execute(bytes).first ?? .null))
        callCount += 1
        try connection.call(argumentCount: command.count) { writer in
            for argument in command { writer.argument(argument) }
        }
    }

    private func record(_ reply: RESPValue, of name: String) {
        switch reply {
        case .error(let text): outcomes.insert("\(name) \(text.parts(2, by: " ")[0])")
        case .list(_, let elements) where name.hasPrefix("publish") || name == "open":
            for case .error(let text) in elements { record(.error(text), of: name) }
            outcomes.formUnion(
                elements.map { element in
                    switch element {
                    case .integer(let serial): "\(name) \(serial == 0 ? "counted" : "numbered")"
                    case .bulk: "\(name) placed"
                    case .list: "\(name) repeated"
                    default: "\(name) stale"
                    }
                }
            )
        case .list(_, let elements): elements.first.map { record($0, of: name) }
        case .integer(let number): outcomes.insert("\(name) \(min(number, 9))")
        case .bulk(let word): outcomes.insert("\(name) \(word.has("-") ? "position" : "\(word)")")
        default: outcomes.insert("\(name) none")
        }
    }

    /// Executes a command in the model; returns the replies without the pushes.
    private func execute(_ command: [ByteString]) -> [RESPValue] {
        var replies: [RESPValue] = []
        for output in model.execute(command, of: modelConnection) {
            if case .list(.push, _) = output.value {
                modelPushes.append(output.value)
            } else {
                replies.append(output.value)
            }
        }
        return replies
    }

    /// Waits for the server's replies, and compares them and what was published.
    func settle() throws {
        try run { transcript.replies.count == expected.count && transcript.ignored.isEmpty }
        for (reply, (name, command, expected)) in zip(transcript.replies, expected) {
            let replies = (Self.ordered(reply, of: name), Self.ordered(expected, of: name))
            guard replies.0 == replies.1 else {
                throw Difference(
                    description:
                        "\(name) \(Self.text(command))\n  Redis: \(replies.0)\n  model: \(replies.1)"
                )
            }
        }
        for index in 0..<max(transcript.pushes.count, modelPushes.count) {
            let pushes = [transcript.pushes, modelPushes].map {
                $0.count > index ? $0[index] : .null
            }
            guard pushes[0] == pushes[1] else {
                let calls = expected.map { "  \($0.name) \(Self.text($0.command))" }.joined(
                    separator: "\n"
                )
                throw Difference(
                    description: "published\n  Redis: \(pushes[0])\n  model: \(pushes[1])\n\(calls)"
                )
            }
        }
        (transcript.replies, transcript.pushes, modelPushes, expected) = ([], [], [], [])
    }

    private static func text(_ command: [ByteString]) -> String {
        command.dropFirst(2).map(\.description).joined(separator: " ")
    }

    /// A reply with its parts sorted that have no order in Redis.
    private static func ordered(_ reply: RESPValue, of name: String) -> RESPValue {
        switch reply {
        case .list(.set, let elements): .list(.set, elements.sorted { "\($0)" < "\($1)" })
        case .list(.map, let elements): .list(.map, pairs(elements))
        case .list(.array, let elements) where name == "attach" && elements.count == 2:
            .array([.array(elements[0].elements.map(orderedMembers)), elements[1]])
        default: reply
        }
    }

    /// What `attach` has read of a channel.
    private static func orderedMembers(_ attachment: RESPValue) -> RESPValue {
        var elements = attachment.elements
        elements[5] = .array(pairs(elements[5].elements))
        return .array(elements)
    }

    private static func pairs(_ elements: [RESPValue]) -> [RESPValue] {
        stride(from: 0, to: elements.count - 1, by: 2)
            .sorted { "\(elements[$0])" < "\(elements[$1])" }
            .flatMap { [elements[$0], elements[$0 + 1]] }
    }

    // MARK: Data

    /// Compares all that can be read.
    func compareData() throws {
        try settle()
        let keys = try ask("KEYS", "*").elements.compactMap { $0.string?.description }
            .filter { $0 != Self.clock }.sorted()
        let modelKeys = model.data.keys.map(\.description).sorted()
        guard keys == modelKeys else {
            throw Difference(description: "keys\n  Redis: \(keys)\n  model: \(modelKeys)")
        }
        for key in keys {
            let command = Self.reading(key, try ask("TYPE", key).string?.description ?? "")
            try compare(command)
            try compareLifetime(of: key)
        }
    }

    /// Compares lifetimes, of which the server's is shorter by a part of the test's duration.
    private func compareLifetime(of key: String) throws {
        guard case .integer(let left) = try ask("PTTL", key) else { return }
        let expiry = model.data.expiry(of: ByteString(key))
        let passed = start.duration(to: .current).components.seconds * 1_000 + 1_000
        var range: ClosedRange<Int64> = -1...(-1)
        if let lifetime = expiry.map({ $0.lifetime * Self.lifetimeScale }) {
            range = lifetime - passed...lifetime
        }
        // A stream that was written anew has what was left of its day, which is hardly less by Redis's own clock.
        let day = 86_400_000 * Self.lifetimeScale
        if expiry != nil, model.data[stream: ByteString(key)] != nil { range = day - passed...day }
        guard range ~= left else {
            throw Difference(
                description: "expiry of \(key)\n  Redis: \(left) ms left\n  model: \(range) ms"
            )
        }
    }

    private static func reading(_ key: String, _ type: String) -> [String] {
        switch type {
        case "string": ["GET", key]
        case "hash": ["HGETALL", key]
        case "set": ["SMEMBERS", key]
        case "zset": ["ZRANGE", key, "0", "-1", "WITHSCORES"]
        default: ["XRANGE", key, "-", "+"]
        }
    }

    private func compare(_ command: [String]) throws {
        var replies = [
            try ask(command), execute(command.map { ByteString($0) }).first ?? .null,
        ].map { Self.ordered($0, of: command[0]) }
        if command[0] == "XRANGE" {
            if Self.partitions.contains(where: { command[1] == $0.deadWebhooks.description }) {
                // They are numbered by Redis's own clock.
                replies = replies.map { .array($0.elements.map { $0.elements[1] }) }
            } else {
                // An empty stream has a place too.
                let info = try ask("XINFO", "STREAM", command[1]).elements
                let index = info.firstIndex(of: .bulk("last-generated-id"))
                replies[0] = .array([replies[0], index.map { info[$0 + 1] } ?? .null])
                let last = model.data[stream: ByteString(command[1])]?.lastID.description ?? ""
                replies[1] = .array([replies[1], .bulk(ByteString(last))])
            }
        }
        guard replies[0] == replies[1] else {
            throw Difference(
                description: "\(command)\n  Redis: \(replies[0])\n  model: \(replies[1])"
            )
        }
    }

    private func ask(_ arguments: String...) throws -> RESPValue { try ask(arguments) }

    private func ask(_ arguments: [String]) throws -> RESPValue {
        try connection.call(argumentCount: arguments.count) { writer in
            for argument in arguments { writer.argument(argument) }
        }
        try run { !transcript.replies.isEmpty }
        return transcript.replies.removeFirst()
    }
}

/// What a server sends, in full.
private final class Transcript: RedisConnectionDelegate {
    var isOpen = false
    var replies: [RESPValue] = []
    var pushes: [RESPValue] = []
    /// The calls whose replies are not recorded.
    var ignored: Set<CallID> = []
    var fault: RedisFault?

    func opened(_ connection: RedisConnection, server: RedisServer) { isOpen = true }

    func received(_ reply: borrowing RESPView, to call: CallID, on connection: RedisConnection) {
        guard ignored.remove(call) == nil else { return }
        replies.append(RESPValue(reply))
    }

    func received(push: borrowing RESPView, on connection: RedisConnection) {
        pushes.append(RESPValue(push))
    }

    func closed(_ connection: RedisConnection, _ fault: RedisFault, unanswered: Range<CallID>) {
        self.fault = fault
    }
}
