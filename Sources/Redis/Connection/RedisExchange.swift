package import Net
package import RESP

/// A few commands over a separate connection, for rare queries outside of a loop: a check of a server, or a list of
/// nodes.
package struct RedisExchange: Sendable {
    /// The server, as it has described itself.
    package var server: RedisServer
    /// The reply to each command, or the error in its place.
    package var replies: [RESPTree]
    /// When the last reply was read, in milliseconds since 1970 by this machine's clock.
    package var endedAt: Int64 = 0

    /// Sends commands in a pipeline, and waits for all replies.
    ///
    /// - Parameters:
    ///   - commands: The commands, each as its arguments.
    ///   - url: The server's address.
    ///   - tls: The accepted certificates; necessary for a secure address.
    ///   - settings: The settings of the connection, with its time limits.
    /// - Returns: The replies.
    /// - Throws: Why the server could not be reached, or has not answered.
    package static func run(
        _ commands: [[String]],
        at url: RedisURL,
        tls: TLSContext?,
        _ settings: RedisSettings
    ) async throws(RedisFault) -> RedisExchange {
        let asker: Asker
        do throws(SystemError) {
            asker = try Asker(commands, at: url, tls: tls, settings)
            try asker.loop.start(asker)
        } catch {
            throw .stream(.system(error))
        }
        await asker.loop.waitUntilStopped()
        return try await asker.result.get()
    }
}

/// A thread with the one connection.
private actor Asker: LoopResident {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private let reactor: Reactor
    private let conversation: Conversation
    private var connection: RedisConnection?
    private let open: (Reactor, Conversation) -> RedisConnection

    init(
        _ commands: [[String]],
        at url: RedisURL,
        tls: TLSContext?,
        _ settings: RedisSettings
    ) throws(SystemError) {
        loop = try EventLoop(name: "redis")
        reactor = try Reactor(loop: loop)
        conversation = Conversation(commands)
        open = { reactor, conversation in
            RedisConnection.connect(
                to: url,
                tls: tls,
                settings: settings,
                on: reactor,
                delegate: conversation
            )
        }
    }

    var result: Result<RedisExchange, RedisFault> {
        (conversation.result ?? .failure(.closedByOwner))
            .map { exchange in
                var exchange = exchange
                exchange.endedAt = reactor.unixMilliseconds
                return exchange
            }
    }

    func turn() -> Bool {
        if connection == nil { connection = open(reactor, conversation) }
        reactor.turn()
        guard conversation.result != nil else { return true }
        reactor.shutDown()
        return false
    }
}

/// The commands and their replies.
private final class Conversation: RedisConnectionDelegate {
    private let commands: [[String]]
    private var server: RedisServer?
    private var replies: [RESPTree] = []
    /// Set once, when the last reply has arrived or the connection has ended.
    private(set) var result: Result<RedisExchange, RedisFault>?

    init(_ commands: [[String]]) { self.commands = commands }

    func opened(_ connection: RedisConnection, server: RedisServer) {
        self.server = server
        for command in commands {
            do throws(RedisCallError) {
                try connection.call(command)
            } catch {
                return connection.close()
            }
        }
        finishIfComplete()
    }

    func received(_ reply: borrowing RESPView, to call: CallID, on connection: RedisConnection) {
        replies.append(RESPTree(reply))
        finishIfComplete()
    }

    func received(push: borrowing RESPView, on connection: RedisConnection) {}

    func closed(_ connection: RedisConnection, _ fault: RedisFault, unanswered: Range<CallID>) {
        if result == nil { result = .failure(fault) }
    }

    private func finishIfComplete() {
        guard let server, replies.count == commands.count else { return }
        result = .success(RedisExchange(server: server, replies: replies))
    }
}
