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
    private let scripts: ClusterScripts

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

    @discardableResult
    func register(
        _ node: String = "a",
        run: Character = "1",
        known: UInt64 = 0,
        _ acknowledgement: Acknowledgement = .primary
    ) throws -> Registration {
        let call = try calls(of: node).register(
            runID: Self.runID(run),
            known: known,
            acknowledgement,
            on: live.connection
        )
        return try #require(live.reply(to: call) { Registration($0) })
    }

    @discardableResult
    func heartbeat(
        _ node: String = "a",
        _ acknowledgement: Acknowledgement = .primary
    ) throws -> Heartbeat {
        let call = try calls(of: node).heartbeat(
            lease: 10_000,
            acknowledgement,
            on: live.connection
        )
        return try #require(live.reply(to: call) { Heartbeat($0) })
    }

    func publish(_ messages: ClusterMessage..., opens: Bool = false) throws -> [PublishOutcome] {
        try publish(messages, opens: opens)
    }

    func publish(_ messages: [ClusterMessage], opens: Bool = false) throws -> [PublishOutcome] {
        let call = try calls(of: "a").publish(messages, opens: opens, on: live.connection)
        let outcomes = try live.reply(to: call) { reply in
            var outcomes: [PublishOutcome?] = []
            reply.forEach { outcomes.append(PublishOutcome($0)) }
            return outcomes
        }
        try #require(outcomes.count == messages.count && !outcomes.contains(nil))
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

    func attach(
        to name: String = "x",
        by node: String = "a",
        count: Int = 1,
        _ interests: PartitionCalls.Interests = []
    ) throws -> ChannelAttachment {
        let call = try calls(of: node).attach(
            to: Self.channel(name),
            count: count,
            interests,
            on: live.connection
        )
        return try #require(live.reply(to: call) { ChannelAttachment($0) })
    }

    func detach(from name: String = "x", by node: String = "a") throws -> ChannelDetachment {
        let call = try calls(of: node).detach(from: Self.channel(name), on: live.connection)
        return try #require(live.reply(to: call) { ChannelDetachment($0) })
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

    /// The keys of the channel `x`.
    var messages: RedisKey { Self.keys.messages(Self.channel("x")) }
    var subscriptions: RedisKey { Self.keys.subscriptions(Self.channel("x")) }
    var cachedEvent: RedisKey { Self.keys.cachedEvent(Self.channel("x")) }
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
    isCached: Bool = false
) -> ClusterMessage {
    ClusterMessage(
        on: ClusterStore.channel(name),
        in: stream,
        lengthMax: lengthMax,
        entry: Array(entry.utf8),
        idempotency: idempotency.map { .init(key: $0.key, digest: $0.digest, age: 60) },
        cacheLifetime: isCached ? 60 : nil
    )
}
