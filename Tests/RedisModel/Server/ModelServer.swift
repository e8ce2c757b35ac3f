/// A Redis server in memory, whose clock the owner moves.
///
/// A value without I/O: a decoded command of a connection goes in, and replies and pushes to all connections come out in
/// the order in which Redis sends them. It knows the commands that the module `Redis` and its owners send; others are
/// answered by an error, as Redis does. Scripts are run by Lua, with the model's commands.
package struct ModelServer: Sendable {
    /// The number of a connection.
    package typealias Connection = Int

    /// Something that is sent to a connection.
    package struct Output: Equatable, Sendable {
        package let connection: Connection
        package let value: RESPValue
    }

    /// A server that refuses writes.
    package enum Refusal: String, Sendable {
        case outOfMemory = "OOM command not allowed when used memory > 'maxmemory'."
        case noReplicas = "NOREPLICAS Not enough good replicas to write."
        case misconfigured = "MISCONF Errors writing to the RDB file."
        case loading = "LOADING Redis is loading the dataset in memory"
    }

    /// The data; for checks, and for the state before a test.
    package var data = Keyspace()
    /// The process, and the history of its data.
    package var identity: Identity
    /// Why writes are refused; nil if they are not.
    package var refusal: Refusal?
    /// Whether what a connection publishes reaches itself only behind the reply, as since Redis 7.2.
    package var pushesFollowReply = false
    /// The answers to `CONFIG GET`.
    package var configuration = [
        "maxmemory-policy": "noeviction", "min-replicas-to-write": "0", "appendonly": "yes",
        "save": "", "stream-node-max-bytes": "4096", "stream-node-max-entries": "100",
    ]

    /// What runs in the place of the scripts with these digests, for those that are loaded from now on.
    package var editedScripts: [String: ByteString] = [:]
    /// The scripts that are loaded, by the digests of their sources.
    var loaded: [String: Script] = [:]
    /// What runs the scripts; nil before the first one.
    var interpreter: ScriptInterpreter?
    /// What the script that runs has changed.
    var effects: [[ByteString]] = []
    var connections: [Connection: ModelConnection] = [:]
    private var connectionCount = 0
    var subscriptions = ModelSubscriptions()
    var log = ReplicationLog()
    /// What the current command sends.
    var outputs: [Output] = []
    /// The connections that others have ended.
    var killed: [Connection] = []

    /// Makes a server without data.
    package init(identity: Identity, time: Int64 = 1_700_000_000_000) {
        self.identity = identity
        data.advance(to: time)
    }

    /// The time in milliseconds since 1970.
    package var time: Int64 { data.time }

    /// Moves the clock.
    ///
    /// - Returns: The replies to calls of `WAIT` that have waited long enough, and the keys that expire.
    @discardableResult
    package mutating func advance(to time: Int64) -> (outputs: [Output], expired: [ByteString]) {
        let expired = data.advance(to: time)
        continueWaiting()
        return (takeOutputs(), expired)
    }

    // MARK: Connections

    /// Accepts a connection.
    package mutating func connect() -> Connection {
        connectionCount += 1
        connections[connectionCount] = ModelConnection()
        return connectionCount
    }

    /// Returns the connections that others have ended by `CLIENT KILL`, to be closed.
    package mutating func takeKilled() -> [Connection] {
        defer { killed = [] }
        return killed
    }

    /// Forgets a connection, which is closed.
    package mutating func disconnect(_ connection: Connection) {
        connections[connection] = nil
        subscriptions.remove(connection)
    }

    /// Executes a command.
    ///
    /// - Parameters:
    ///   - command: The name and the arguments.
    ///   - connection: A connection that was not disconnected.
    /// - Returns: What is sent to this and other connections. While the connection waits for replicas, its commands wait too.
    package mutating func execute(
        _ command: [ByteString],
        of connection: Connection
    ) -> [Output] {
        if connections[connection]?.wait == nil {
            perform(command, of: connection)
        } else {
            connections[connection]?.queue.append(command)
        }
        return takeOutputs()
    }

    private mutating func takeOutputs() -> [Output] {
        defer { outputs = [] }
        return outputs
    }

    mutating func send(_ value: RESPValue, to connection: Connection) {
        outputs.append(Output(connection: connection, value: value))
    }

    /// Executes a command at once.
    mutating func perform(_ command: [ByteString], of connection: Connection) {
        let first = outputs.count
        let reply = reply(to: command, of: connection)
        // Also without a write: `WAIT` then waits for those of the others.
        if connections[connection]?.wait == nil { connections[connection]?.writeOffset = log.end }
        guard let reply else { return }
        let own = pushesFollowReply ? outputs[first...].filter { $0.connection == connection } : []
        if !own.isEmpty { outputs[first...].removeAll { $0.connection == connection } }
        send(reply, to: connection)
        outputs += own
    }

    /// Executes a command.
    ///
    /// - Returns: The reply; nil if it was sent, or comes later.
    private mutating func reply(
        to command: [ByteString],
        of connection: Connection
    ) -> RESPValue? {
        guard let name = command.first?.description.uppercased() else { return nil }
        let arguments = Array(command.dropFirst())
        switch name {
        case "EVALSHA": return evaluate(arguments)
        case "SUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "SUNSUBSCRIBE":
            changeSubscriptions(name.lowercased(), arguments, of: connection)
            return nil
        case "PUBLISH", "SPUBLISH":
            guard arguments.count == 2 else { return .wrongNumber(of: name) }
            let isSharded = name == "SPUBLISH"
            return .integer(publish(arguments[1], on: arguments[0], isSharded: isSharded))
        case "WAIT": return wait(arguments, of: connection)
        default: break
        }
        if let reply = administer(name, arguments, of: connection) { return reply }
        return access(name, arguments)
    }

    /// Executes a command that reads or changes data.
    private mutating func access(_ name: String, _ arguments: [ByteString]) -> RESPValue {
        guard let command = DataCommand.all[name] else {
            return .error("ERR unknown command '\(name)'")
        }
        guard arguments.count >= command.argumentCountMin else { return .wrongNumber(of: name) }
        if command.kind != .reads,
            let error = refusal(allowsOutOfMemory: command.kind == .frees)
        {
            return error
        }
        let reply = command.body(&data, arguments)
        if command.isReplicated, !reply.isError { append([[ByteString(name)] + arguments]) }
        return reply
    }
}

/// A connection, as the server knows it.
struct ModelConnection: Sendable {
    var name: ByteString = ""
    /// The place in the log behind the connection's last command.
    var writeOffset = 0
    var wait: ReplicaWait?
    /// The commands that wait behind `WAIT`.
    var queue: [[ByteString]] = []
}
