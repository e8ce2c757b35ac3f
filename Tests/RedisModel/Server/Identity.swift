import RESP

extension ModelServer {
    /// What a server tells of itself.
    package struct Identity: Sendable {
        /// The process: 40 hexadecimal digits.
        package var run: String
        /// The history of the data.
        package var replication: String
        /// The history that the data had before; nil without one.
        package var formerReplication: String?
        /// When the process has started, in milliseconds since 1970.
        package var startedAt: Int64
        package var isPrimary: Bool

        package init(
            run: String,
            replication: String,
            formerReplication: String? = nil,
            startedAt: Int64,
            isPrimary: Bool = true
        ) {
            self.run = run
            self.replication = replication
            self.formerReplication = formerReplication
            self.startedAt = startedAt
            self.isPrimary = isPrimary
        }
    }

    /// Makes the server a replica, which refuses writes from now on.
    package mutating func demote() { identity.isPrimary = false }

    /// Makes a replica the primary.
    ///
    /// - Parameter replication: The new history of its data.
    package mutating func promote(replication: String) {
        identity.formerReplication = identity.replication
        identity.replication = replication
        identity.isPrimary = true
    }

    // MARK: Commands

    /// Executes a command that neither reads nor changes data; nil for any other.
    mutating func administer(
        _ name: String,
        _ arguments: [ByteString],
        of connection: Connection
    ) -> RESPValue? {
        let subcommand = arguments.first?.description.uppercased()
        switch (name, subcommand) {
        case ("PING", nil): return .simpleString("PONG")
        case ("PING", _): return .bulk(arguments[0])
        case ("HELLO", _): return hello(arguments, of: connection)
        case ("INFO", _): return .verbatim(info)
        case ("TIME", _): return timeReply
        case ("ROLE", _):
            return .array([.bulk(identity.isPrimary ? "master" : "slave"), .integer(log.end)])
        case ("CONFIG", "GET"):
            let values = arguments.dropFirst().compactMap { key in
                configuration[key.description].map { (key, $0) }
            }
            return .list(.map, values.flatMap { [.bulk($0), .bulk(ByteString($1))] })
        case ("CLIENT", "ID"): return .integer(connection)
        case ("CLIENT", "GETNAME"):
            let name = connections[connection]?.name ?? ""
            return name.isEmpty ? .null : .bulk(name)
        case ("CLIENT", "SETNAME"):
            connections[connection]?.name = arguments.count > 1 ? arguments[1] : ""
            return .ok
        case ("CLIENT", "KILL"):
            guard arguments.count == 3, let id = arguments[2].integer,
                let other = connections.keys.first(where: { $0 == id })
            else { return .integer(0) }
            killed.append(other)
            return .integer(1)
        case ("SCRIPT", "LOAD"): return load(arguments.count > 1 ? arguments[1] : "")
        case ("SCRIPT", "FLUSH"): return flushScripts()
        default: return nil
        }
    }

    private mutating func hello(_ arguments: [ByteString], of connection: Connection) -> RESPValue {
        guard arguments.first == "3" else {
            return .error("NOPROTO unsupported protocol version")
        }
        if let index = arguments.firstIndex(of: "SETNAME"), index + 1 < arguments.count {
            connections[connection]?.name = arguments[index + 1]
        }
        return .list(
            .map,
            [
                .bulk("server"), .bulk("redis"), .bulk("version"), .bulk("7.0.15"),
                .bulk("proto"), .integer(3), .bulk("id"), .integer(connection),
                .bulk("mode"), .bulk("standalone"),
                .bulk("role"), .bulk(identity.isPrimary ? "master" : "replica"),
                .bulk("modules"), .array([]),
            ]
        )
    }

    /// Seconds, and microseconds.
    var timeReply: RESPValue {
        .strings([ByteString(time / 1_000), ByteString(time % 1_000 * 1_000)])
    }

    /// All sections, whichever are asked for.
    private var info: ByteString {
        let former = identity.formerReplication ?? String(repeating: "0", count: 40)
        return """
            # Server\r
            redis_version:7.0.15\r
            run_id:\(identity.run)\r
            server_time_usec:\(time * 1_000)\r
            uptime_in_seconds:\((time - identity.startedAt) / 1_000)\r
            \r
            # Memory\r
            maxmemory_policy:\(configuration["maxmemory-policy"] ?? "")\r
            \r
            # Replication\r
            role:\(identity.isPrimary ? "master" : "slave")\r
            connected_slaves:\(log.acknowledged.count)\r
            master_replid:\(identity.replication)\r
            master_replid2:\(former)\r
            master_repl_offset:\(log.end)\r\n
            """
    }
}
