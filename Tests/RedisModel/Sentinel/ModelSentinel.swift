import RESP

/// A Sentinel in memory: what it answers its clients, and which primary it names.
///
/// A value without I/O, like ``ModelServer``. It knows the commands that `SentinelWatch` sends; others are answered by an
/// error, as a Sentinel does. When it takes a server for dead and which one it promotes is for its owner to decide.
package struct ModelSentinel: Sendable {
    package typealias Connection = ModelServer.Connection
    package typealias Output = ModelServer.Output

    /// The address of a Redis server.
    package struct Server: Hashable, Sendable {
        package var host: String
        package var port: UInt16

        package init(host: String, port: UInt16) { (self.host, self.port) = (host, port) }
    }

    /// A primary that it monitors.
    private struct Monitored {
        var server: Server
        /// The configuration epoch: how many failovers the Sentinels have agreed on when this server was named.
        var epoch: Int
    }

    /// The pub/sub channel on which it announces another primary.
    package static let switched: ByteString = "+switch-master"

    /// The process: 40 hexadecimal digits.
    private let run: String
    /// When the process has started, in milliseconds since 1970.
    private let startedAt: Int64
    private var primaries: [String: Monitored] = [:]
    private var connections: [Connection: ByteString] = [:]
    private var connectionCount = 0
    private var subscriptions = ModelSubscriptions()

    /// Makes a Sentinel that monitors nothing.
    ///
    /// - Parameters:
    ///   - run: The process: 40 hexadecimal digits.
    ///   - time: When the process starts, in milliseconds since 1970.
    package init(run: String, startedAt time: Int64) { (self.run, startedAt) = (run, time) }

    // MARK: Primaries

    /// Monitors a primary, as by `SENTINEL MONITOR`.
    package mutating func monitor(_ name: String, _ server: Server) {
        primaries[name] = Monitored(server: server, epoch: 0)
    }

    /// The server that it names; nil if it does not know the name.
    package func primary(_ name: String) -> Server? { primaries[name]?.server }

    /// The configuration epoch of a name; 0 if it does not know it.
    package func epoch(_ name: String) -> Int { primaries[name]?.epoch ?? 0 }

    /// Names another server from now on.
    ///
    /// - Parameters:
    ///   - name: A name that it monitors.
    ///   - server: The server.
    ///   - epoch: The configuration epoch, greater than the one that it has.
    /// - Returns: The announcement, to all that are subscribed to it.
    package mutating func switchPrimary(
        _ name: String,
        to server: Server,
        epoch: Int
    ) -> [Output] {
        guard let former = primaries[name] else { return [] }
        precondition(epoch > former.epoch, "Sentinels forget older configurations")
        primaries[name] = Monitored(server: server, epoch: epoch)
        guard server != former.server else { return [] }
        let text: ByteString =
            "\(name) \(former.server.host) \(former.server.port) \(server.host) \(server.port)"
        return subscribers.map { connection in
            let push: [RESPValue] = [.bulk("message"), .bulk(Self.switched), .bulk(text)]
            return Output(connection: connection, value: .list(.push, push))
        }
    }

    /// The connections to which it announces another primary.
    package var subscribers: [Connection] {
        subscriptions.subscribers(to: .init(name: Self.switched, isSharded: false))
    }

    // MARK: Connections

    /// Accepts a connection.
    package mutating func connect() -> Connection {
        connectionCount += 1
        connections[connectionCount] = ""
        return connectionCount
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
    ///   - time: The time in milliseconds since 1970.
    /// - Returns: What is sent to the connection.
    package mutating func execute(
        _ command: [ByteString],
        of connection: Connection,
        at time: Int64
    ) -> [Output] {
        guard let name = command.first?.description else { return [] }
        let arguments = Array(command.dropFirst())
        let values: [RESPValue]
        switch (name.uppercased(), arguments.first?.description.uppercased()) {
        case ("PING", nil): values = [.simpleString("PONG")]
        case ("HELLO", "3"?):
            if let index = arguments.firstIndex(of: "SETNAME"), index + 1 < arguments.count {
                connections[connection] = arguments[index + 1]
            }
            values = [hello(connection)]
        case ("INFO", _): values = [.bulk(info(at: time))]
        case ("CLIENT", "ID"?): values = [.integer(connection)]
        case ("CLIENT", "GETNAME"?): values = [.bulk(connections[connection] ?? "")]
        case ("SENTINEL", "GET-MASTER-ADDR-BY-NAME"?): values = [address(arguments)]
        case ("SENTINEL", "MASTER"?): values = [details(arguments)]
        case ("SENTINEL", _):
            values = [
                .error("ERR unknown subcommand '\(arguments.first ?? "")'. Try SENTINEL HELP.")
            ]
        case ("SUBSCRIBE", _): values = subscribe(connection, to: arguments)
        default:
            let rest = arguments.map { "'\($0)' " }.joined()
            values = [
                .error("ERR unknown command '\(name)', with args beginning with: \(rest)")
            ]
        }
        return values.map { Output(connection: connection, value: $0) }
    }

    private func address(_ arguments: [ByteString]) -> RESPValue {
        guard arguments.count == 2 else {
            return .wrongNumber(of: "sentinel|get-master-addr-by-name")
        }
        guard let server = primary(arguments[1].description) else { return .null }
        return .array([.bulk(ByteString(server.host)), .bulk(ByteString(server.port))])
    }

    /// The first fields, and the configuration epoch.
    private func details(_ arguments: [ByteString]) -> RESPValue {
        guard arguments.count == 2 else { return .wrongNumber(of: "sentinel|master") }
        guard let monitored = primaries[arguments[1].description] else {
            return .error("ERR No such master with that name")
        }
        let fields: [(ByteString, ByteString)] = [
            ("name", arguments[1]), ("ip", ByteString(monitored.server.host)),
            ("port", ByteString(monitored.server.port)),
            ("config-epoch", ByteString(monitored.epoch)),
        ]
        return .list(.map, fields.flatMap { [.bulk($0), .bulk($1)] })
    }

    private mutating func subscribe(
        _ connection: Connection,
        to channels: [ByteString]
    ) -> [RESPValue] {
        channels.map { channel in
            subscriptions.add(connection, to: .init(name: channel, isSharded: false))
            let count = subscriptions.count(of: connection, isSharded: false)
            return .list(.push, [.bulk("subscribe"), .bulk(channel), .integer(count)])
        }
    }

    /// A Sentinel has no role.
    private func hello(_ connection: Connection) -> RESPValue {
        .list(
            .map,
            [
                .bulk("server"), .bulk("redis"), .bulk("version"), .bulk("7.0.15"),
                .bulk("proto"), .integer(3), .bulk("id"), .integer(connection),
                .bulk("mode"), .bulk("sentinel"), .bulk("modules"), .array([]),
            ]
        )
    }

    /// The section `server`; a Sentinel has no section `replication`.
    private func info(at time: Int64) -> ByteString {
        """
        # Server\r
        redis_version:7.0.15\r
        redis_mode:sentinel\r
        run_id:\(run)\r
        server_time_usec:\(time * 1_000)\r
        uptime_in_seconds:\((time - startedAt) / 1_000)\r\n\r\n
        """
    }
}
