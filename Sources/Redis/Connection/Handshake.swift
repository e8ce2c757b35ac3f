import RESP

/// The commands that open a connection, and the replies to them.
///
/// All commands are sent at once: `HELLO 3` with the credentials, `SCRIPT LOAD` for each script, `INFO`. The first
/// error ends the connection, so that none is used partly.
struct Handshake {
    private enum Command: Equatable {
        case hello
        case scriptLoad(RedisScript)
        case info
    }

    private var unanswered: ArraySlice<Command>
    private let requiresPrimary: Bool
    private var server = RedisServer(
        product: "",
        version: "",
        mode: .standalone,
        isPrimary: true,
        runID: nil,
        clientID: 0
    )

    init(_ settings: RedisSettings) {
        requiresPrimary = settings.requiresPrimary
        unanswered = [.hello] + settings.scripts.map { .scriptLoad($0) } + [.info]
    }

    /// The commands.
    static func commands(_ settings: RedisSettings) -> [UInt8] {
        var writer = RESPWriter()
        let hasPassword = settings.password != nil
        let hasName = settings.clientName != nil
        writer.begin(argumentCount: 2 + (hasPassword ? 3 : 0) + (hasName ? 2 : 0))
        writer.argument(literal: "HELLO")
        writer.argument(literal: "3")
        if let password = settings.password {
            writer.argument(literal: "AUTH")
            writer.argument(settings.username ?? "default")
            writer.argument(password)
        }
        if let name = settings.clientName {
            writer.argument(literal: "SETNAME")
            writer.argument(name)
        }
        for script in settings.scripts {
            writer.begin(argumentCount: 3)
            writer.argument(literal: "SCRIPT")
            writer.argument(literal: "LOAD")
            writer.argument(script.source)
        }
        writer.begin(argumentCount: 3)
        writer.argument(literal: "INFO")
        writer.argument(literal: "server")
        writer.argument(literal: "replication")
        return writer.bytes
    }

    /// Reads a reply, and returns the server after the last one; throws the reason why the server cannot be used.
    mutating func receive(_ reply: borrowing RESPView) throws(RedisFault) -> RedisServer? {
        guard let command = unanswered.popFirst() else { throw .unexpectedReply }
        let error = RedisError(reply)
        switch command {
        case .hello:
            if let error { throw .refused(error) }
            try read(hello: reply)
        case .scriptLoad(let script):
            if let error { throw .refused(error) }
            guard reply.text == script.digest else { throw .handshake("SCRIPT LOAD") }
        case .info:
            // Some hosts do not permit INFO; then the process stays unknown.
            if let error, error.code != .noPermission, error.code != .other {
                throw .refused(error)
            }
            if error == nil { server.read(info: reply.text) }
            guard server.isPrimary || !requiresPrimary else { throw .replica }
        }
        return unanswered.isEmpty ? server : nil
    }

    private mutating func read(hello reply: borrowing RESPView) throws(RedisFault) {
        guard reply.kind == .map, reply["proto"].integer == 3 else { throw .handshake("HELLO") }
        server.product = reply["server"].text
        server.version = reply["version"].text
        server.mode = RedisServer.Mode(rawValue: reply["mode"].text) ?? .standalone
        // A Sentinel has no role.
        server.isPrimary = reply["role"].isNull || reply["role"].equals("master")
        server.clientID = reply["id"].integer ?? 0
        guard server.isSupported else {
            throw .version(server.version, least: RedisServer.leastVersion)
        }
        guard server.isPrimary || !requiresPrimary else { throw .replica }
    }
}
