import Net
import RESP
import Redis
import TestRedis
import Testing

/// A connection to a server, whose turns the test runs on its own thread.
final class LiveRedis {
    let owner = Owner()
    let reactor: Reactor
    let connection: RedisConnection
    /// The server, which runs for as long as this object.
    private let process: RedisProcess?

    /// Waits long enough for a busy machine.
    static let patience = RedisSettings(openTimeout: .seconds(20), answerTimeout: .seconds(20))

    init(
        _ url: RedisURL,
        tls: TLSContext? = nil,
        _ settings: RedisSettings = patience,
        of process: RedisProcess? = nil
    ) throws {
        self.process = process
        reactor = try Reactor(loop: EventLoop(name: "test"))
        connection = RedisConnection.connect(
            to: url,
            tls: tls,
            settings: settings,
            on: reactor,
            delegate: owner
        )
    }

    convenience init(_ process: RedisProcess, _ settings: RedisSettings = patience) throws {
        try self.init(process.url, settings, of: process)
    }

    deinit { reactor.shutDown() }

    /// A connection that is open.
    static func opened(
        _ redis: RedisProcess,
        scripts: [RedisScript] = []
    ) throws -> LiveRedis {
        var settings = patience
        settings.scripts = scripts
        let live = try LiveRedis(redis, settings)
        live.run { !live.owner.events.isEmpty }
        try #require(live.owner.takeEvents() == [.opened])
        return live
    }

    /// Runs turns until the condition holds; records an issue after 20 s.
    func run(location: SourceLocation = #_sourceLocation, until condition: () -> Bool) {
        let deadline = MonotonicTime.current.advanced(by: .seconds(20))
        while !condition() {
            guard MonotonicTime.current < deadline else {
                Issue.record("no event; \(owner.events)", sourceLocation: location)
                return
            }
            reactor.poll(atMost: .milliseconds(100))
            reactor.flush()
        }
    }

    /// Waits for the reply to a call and reads it.
    func reply<Reply>(
        to call: CallID,
        _ read: @escaping (borrowing RESPView) -> Reply
    ) throws -> Reply {
        var reply: Reply?
        owner.onReply[call] = { reply = read($0) }
        run { reply != nil || owner.fault != nil }
        return try #require(reply, "\(owner.events)")
    }

    /// Calls a command and waits for its reply.
    @discardableResult
    func call(_ arguments: String...) throws -> Value {
        let call = try connection.call(argumentCount: arguments.count) { writer in
            for argument in arguments { writer.argument(argument) }
        }
        return try reply(to: call) { Value($0) }
    }

    /// Calls a script and waits for its reply.
    func evaluate(
        _ script: RedisScript,
        _ keys: [String],
        _ arguments: [String]
    ) throws -> Value {
        try reply(to: connection.evaluate(script, keys: keys, arguments)) { Value($0) }
    }

    /// Removes and returns the payloads of the published messages.
    func takeMessages() throws -> [String] {
        // What was published before is pushed before this reply.
        try call("PING")
        return owner.takeEvents().compactMap { event in
            guard case .push(let push) = event, push.elements.first?.text == "message" else {
                return nil
            }
            return push.elements[2].text
        }
    }
}

extension RedisProcess {
    /// The address of the server's socket.
    var url: RedisURL {
        get throws { try RedisURL("redis+unix://\(socket)") }
    }
}
