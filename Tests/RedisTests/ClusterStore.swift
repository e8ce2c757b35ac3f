import RESP
import Redis
import TestRedis
import Testing

/// One partition of a cluster in a real Redis server, and the calls of its scripts.
final class ClusterStore {
    static let scripts = ClusterScripts(isSharded: false)
    let redis: RedisProcess
    let live: LiveRedis

    init(_ arguments: [String] = [], scripts: ClusterScripts = scripts) throws {
        redis = try RedisProcess(arguments)
        live = try LiveRedis.opened(redis, scripts: scripts.all)
    }

    /// A key of the partition.
    static func key(_ name: String) -> String { "f:{p-0}:\(name)" }

    /// The run ID of an imaginary server.
    static func runID(_ digit: Character) -> String { String(repeating: digit, count: 40) }

    /// What `register` returns.
    struct Registration {
        var since, clean, wasRegistered, counter, time: Int

        init(_ reply: Value) throws {
            let numbers = reply.elements.compactMap { Int($0.text) }
            try #require(numbers.count == 5, "\(reply)")
            (since, clean, wasRegistered) = (numbers[0], numbers[1], numbers[2])
            (counter, time) = (numbers[3], numbers[4])
        }
    }

    func register(
        _ node: String = "a",
        run: Character = "1",
        known: Int = 0,
        mode: String = "primary",
        layout: Int = ClusterScripts.layout
    ) throws -> Value {
        try live.evaluate(
            Self.scripts.register,
            ["g", "nodes", "i:\(node)", "c"].map(Self.key),
            [node, Self.runID(run), "\(known)", mode, "\(layout)"]
        )
    }

    /// Registers a node and returns the epoch's `since`.
    @discardableResult
    func registered(
        _ node: String = "a",
        run: Character = "1",
        known: Int = 0,
        mode: String = "primary"
    ) throws -> Registration {
        try Registration(register(node, run: run, known: known, mode: mode))
    }

    /// What `heartbeat` returns.
    struct Heartbeat {
        var since, clean, isRegistered, counter, leads, time: Int
        var dead: [String]

        init(_ reply: Value) throws {
            let numbers = reply.elements.dropLast().compactMap { Int($0.text) }
            try #require(numbers.count == 6, "\(reply)")
            (since, clean, isRegistered) = (numbers[0], numbers[1], numbers[2])
            (counter, leads, time) = (numbers[3], numbers[4], numbers[5])
            dead = reply.elements.last?.elements.map(\.text) ?? []
        }
    }

    func heartbeat(
        _ node: String = "a",
        lease: Int = 10_000,
        mode: String = "primary"
    ) throws -> Heartbeat {
        try Heartbeat(
            live.evaluate(
                Self.scripts.heartbeat,
                ["g", "nodes", "i:\(node)", "c", "leader"].map(Self.key),
                [node, "\(lease)", mode]
            )
        )
    }

    /// A message to publish.
    struct Message {
        var channel = "x"
        /// The stream that the caller knows; `-` for none, empty for a plain channel.
        var stream = "-"
        var lengthMax = 100
        var entry = "e - 1 {}"
        var idempotency: (key: String, digest: String)?
        var isCached = false
    }

    /// Publishes messages by one of the two scripts.
    func publish(_ messages: Message..., opens: Bool = false) throws -> [Value] {
        try publish(messages, opens: opens)
    }

    func publish(_ messages: [Message], opens: Bool = false) throws -> [Value] {
        var keys = ["c", "g"]
        var arguments: [String] = []
        for message in messages {
            keys += ["h:\(message.channel)", "m:\(message.channel)"]
            arguments += [
                (message.idempotency == nil ? "" : "i") + (message.isCached ? "k" : ""),
                message.stream, "\(message.lengthMax)", message.entry,
            ]
            if let (key, digest) = message.idempotency {
                keys.append("x:\(key)")
                arguments += [digest, "60"]
            }
            if message.isCached {
                keys.append("k:\(message.channel)")
                arguments.append("60")
            }
        }
        let script = opens ? Self.scripts.open : Self.scripts.publish
        return try live.evaluate(script, keys.map(Self.key), arguments).elements
    }

    func attach(
        _ channel: String = "x",
        by node: String = "a",
        count: Int = 1,
        flags: String = ""
    ) throws -> Value {
        let keys = [
            "g", "i:\(node)", "n:\(channel)", "o", "h:\(channel)", "m:\(channel)", "k:\(channel)",
            "q:\(channel)",
        ]
        return try live.evaluate(
            Self.scripts.attach,
            keys.map(Self.key),
            [node, "c:\(channel)", channel, "\(count)", flags]
        )
    }

    func detach(_ channel: String = "x", by node: String = "a") throws -> Value {
        try live.evaluate(
            Self.scripts.detach,
            ["i:\(node)", "n:\(channel)", "o"].map(Self.key),
            [node, "c:\(channel)", channel]
        )
    }

    func call(_ command: String, _ key: String, _ arguments: String...) throws -> Value {
        let call = try live.connection.call(argumentCount: 2 + arguments.count) { writer in
            for argument in [command, Self.key(key)] + arguments { writer.argument(argument) }
        }
        return try live.reply(to: call)
    }

    func subscribe(to channel: String = "x") throws {
        try live.connection.subscribe(to: [Self.key("m:\(channel)")])
    }
}

/// A position, as a stream and a serial.
struct Position: Equatable {
    var stream, serial: Int

    init(_ value: Value) throws {
        let parts = value.text.split(separator: "-").compactMap { Int($0) }
        try #require(parts.count == 2, "\(value) is no position")
        (stream, serial) = (parts[0], parts[1])
    }

    func with(serial: Int) -> Position {
        var position = self
        position.serial = serial
        return position
    }
}
