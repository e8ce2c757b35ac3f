import RESP
import Redis
import TestRedis
import Testing

/// One partition of a cluster in a real Redis server, and the calls of its scripts.
final class ClusterStore {
    static let scripts = ClusterScripts(isSharded: false)
    static let keys = PartitionKeys.all(prefix: "f", count: 1)[0]
    let redis: RedisProcess
    let live: LiveRedis
    let scripts: ClusterScripts

    convenience init(_ arguments: [String] = [], scripts: ClusterScripts = scripts) throws {
        try self.init(RedisProcess(arguments), scripts: scripts)
    }

    init(_ redis: RedisProcess, scripts: ClusterScripts = scripts) throws {
        self.redis = redis
        self.scripts = scripts
        live = try LiveRedis.opened(redis, scripts: scripts.all)
    }

    /// The run ID of an imaginary server.
    static func runID(_ digit: Character) -> String { String(repeating: digit, count: 40) }

    static func channel(_ name: String) -> ClusterChannel { ClusterChannel(app: "1", name: name) }

    func calls(of node: String) -> PartitionCalls {
        PartitionCalls(node: node, keys: Self.keys, scripts: scripts)
    }

    /// Sends a call and reads its reply.
    @discardableResult
    func send<Reply>(
        _ call: ScriptCall,
        _ read: @escaping (borrowing RESPView) -> Reply?,
        location: SourceLocation = #_sourceLocation
    ) throws -> Reply {
        let id = try live.connection.send(call)
        var text = ""
        let reply = try live.reply(to: id) { view in
            text = "\(Value(view))"
            return read(view)
        }
        return try #require(reply, "\(text)", sourceLocation: location)
    }

    /// Sends a call and reads its error.
    func refusal(of call: ScriptCall) throws -> RedisError? {
        try live.reply(to: live.connection.send(call)) { RedisError($0) }
    }

    /// The identity of an imaginary server.
    static func server(_ run: Character, after former: Character? = nil) -> ServerIdentity {
        ServerIdentity(
            run: runID(run),
            replication: "r\(run)",
            formerReplication: former.map { "r\($0)" } ?? "",
            startedAt: 0
        )
    }

    @discardableResult
    func register(
        _ node: String = "a",
        run: Character = "1",
        known: UInt64 = 0,
        _ acknowledgement: Acknowledgement = .primary
    ) throws -> Registration {
        try register(node, with: Self.server(run), known: known, acknowledgement)
    }

    @discardableResult
    func register(
        _ node: String = "a",
        with server: ServerIdentity,
        known: UInt64 = 0,
        _ acknowledgement: Acknowledgement = .primary
    ) throws -> Registration {
        let call = calls(of: node).register(with: server, known: known, acknowledgement)
        return try send(call) { Registration($0) }
    }

    @discardableResult
    func heartbeat(
        _ node: String = "a",
        _ acknowledgement: Acknowledgement = .primary
    ) throws -> Heartbeat {
        try send(calls(of: node).heartbeat(lease: 10_000, acknowledgement)) { Heartbeat($0) }
    }

    @discardableResult
    func publish(_ messages: ClusterMessage..., opens: Bool = false) throws -> [PublishOutcome] {
        try publish(messages, opens: opens)
    }

    func publish(_ messages: [ClusterMessage], opens: Bool = false) throws -> [PublishOutcome] {
        let outcomes = try outcomes(of: calls(of: "a").publish(messages, opens: opens))
        try #require(outcomes.count == messages.count)
        return outcomes
    }

    func outcomes(of call: ScriptCall) throws -> [PublishOutcome] {
        let outcomes = try send(call) { reply in
            var outcomes: [PublishOutcome?] = []
            reply.forEach { element in
                // What had to go for the messages follows their outcomes.
                if PublishEvictions(element) == nil { outcomes.append(PublishOutcome(element)) }
            }
            return outcomes
        }
        try #require(!outcomes.contains(nil))
        return outcomes.compactMap(\.self)
    }

    /// Publishes a message by `open`, and returns its position.
    func open(_ message: ClusterMessage = message()) throws -> StreamPosition {
        guard case .placed(let position) = try publish(message, opens: true).first else {
            throw Unplaced()
        }
        return position
    }

    struct Unplaced: Error {}

    @discardableResult
    func attach(
        to name: String = "x",
        by node: String = "a",
        count: Int = 1,
        _ interests: PartitionCalls.Interests = [],
        _ rules: ChannelRules = .init()
    ) throws -> ChannelAttachment {
        let channel = Self.channel(name)
        let call = calls(of: node).attach(to: [.init(to: channel, count: count, interests, rules)])
        return try send(call) { ChannelAttachment.all($0)?.first }
    }

    @discardableResult
    func detach(
        from name: String = "x",
        by node: String = "a",
        _ rules: ChannelRules = .init()
    ) throws -> ChannelDetachment {
        try send(calls(of: node).detach(from: Self.channel(name), rules)) { ChannelDetachment($0) }
    }

    @discardableResult
    func join(
        _ user: String,
        by node: String = "a",
        info: String = "{}",
        membersMax: Int = 100,
        _ rules: ChannelRules = .init()
    ) throws -> MemberArrival {
        let call = calls(of: node).join(
            Self.channel("x"),
            as: user,
            info: Array(info.utf8),
            membersMax: membersMax,
            rules
        )
        return try send(call) { MemberArrival($0) }
    }

    @discardableResult
    func leave(
        _ user: String,
        by node: String = "a",
        _ rules: ChannelRules = .init()
    ) throws -> MemberDeparture {
        try send(calls(of: node).leave(Self.channel("x"), as: user, rules)) { MemberDeparture($0) }
    }

    /// Makes everything due that waits.
    func makeDue() throws {
        for item in try call("ZRANGE", Self.keys.due, "0", "-1").elements {
            try call("ZADD", Self.keys.due, "1", item.text)
        }
    }

    /// Takes the leadership, and executes what is due; returns `KIND REST` of each webhook.
    func takeWebhooks(by node: String = "a") throws -> [String] {
        try heartbeat(node)
        let work = try send(calls(of: node).timers(after: nil)) { DueWork($0) }
        try send(calls(of: node).settle(delivered: work.webhooks.map(\.id))) { $0.integer }
        return work.webhooks.map { record in
            let rest = record.rest.isEmpty ? "" : " " + String(decoding: record.rest, as: UTF8.self)
            return record.kind.rawValue + rest
        }
    }

    /// Calls a command with a key as its first argument.
    @discardableResult
    func call(_ command: String, _ key: RedisKey, _ arguments: String...) throws -> Value {
        let call = try live.connection.call(argumentCount: 2 + arguments.count) { writer in
            writer.argument(command)
            writer.argument(key)
            for argument in arguments { writer.argument(argument) }
        }
        return try live.reply(to: call) { Value($0) }
    }

    /// Subscribes to the announcements of the channel `x`.
    func subscribe() throws {
        let name = Self.keys.announcements(Self.channel("x")).description
        try live.connection.subscribe(to: [name])
    }

    /// Removes and returns what was published, without the times.
    func takeAnnouncements() throws -> [String] {
        try live.takeMessages().map { text in
            var words = text.split(separator: " ", omittingEmptySubsequences: false)
            if words.count > 3 { words.remove(at: 3) } else { words.remove(at: 1) }
            return words.joined(separator: " ")
        }
    }

    /// The keys of the channel `x`.
    var messages: RedisKey { Self.keys.messages(Self.channel("x")) }
    var subscriptions: RedisKey { Self.keys.subscriptions(Self.channel("x")) }
    var cachedEvents: RedisKey { Self.keys.cachedEvents("1") }
    var occupied: RedisKey { Self.keys.occupied("1") }
}

extension StreamPosition {
    func with(serial: UInt64) -> StreamPosition { StreamPosition(stream: stream, serial: serial) }
}

/// A message on the channel `x`.
func message(
    on name: String = "x",
    in stream: ClusterMessage.Stream = .unknown,
    lengthMax: Int = 100,
    _ entry: String = "e - 1 {}",
    idempotency: (key: String, digest: String)? = nil,
    caching: ClusterMessage.Caching? = nil
) -> ClusterMessage {
    ClusterMessage(
        on: ClusterStore.channel(name),
        in: stream,
        lengthMax: lengthMax,
        entry: Array(entry.utf8),
        idempotency: idempotency.map { .init(key: $0.key, digest: $0.digest, age: 60) },
        caching: caching
    )
}
