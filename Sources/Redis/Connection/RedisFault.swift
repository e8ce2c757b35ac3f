public import Net
public import RESP

/// Why a connection has ended.
public enum RedisFault: Error, Hashable, Sendable, CustomStringConvertible {
    /// The owner has closed it.
    case closedByOwner
    /// The server has closed it because it stops, or because this side has read too slowly.
    case closedByServer
    /// The name of the host cannot be resolved.
    case unresolvable(ResolveError)
    /// The connection, or its encryption, has failed.
    case stream(StreamError)
    /// The connection was not open within this time, including the handshake.
    case openTimedOut(Duration)
    /// A call was not answered within this time.
    case answerTimedOut(Duration)
    /// The server has sent something that is not RESP3, or too much.
    case malformed(RESPError)
    /// The server has sent a reply that belongs to no call.
    case unexpectedReply
    /// The server has refused the handshake, or can no longer be used.
    case refused(RedisError)
    /// The server is older than `least`.
    case version(String, least: String)
    /// The server is a replica.
    case replica
    /// The server is another process than expected, or was a replica in the meantime.
    case anotherServer
    /// The reply to a command of the handshake has another form; the command.
    case handshake(String)

    /// A word for metrics.
    public var reason: String {
        switch self {
        case .closedByOwner: "owner"
        case .closedByServer: "closed"
        case .unresolvable: "name"
        case .stream(.connectTimedOut), .stream(.handshakeTimedOut), .openTimedOut: "open_timeout"
        case .stream(.tls): "tls"
        case .stream: "connection"
        case .answerTimedOut: "answer_timeout"
        case .malformed, .unexpectedReply, .handshake: "protocol"
        case .refused(let error):
            error.code == .other ? "refused" : error.code.rawValue.lowercased()
        case .version: "version"
        case .replica: "replica"
        case .anotherServer: "another_server"
        }
    }

    /// A sentence for a log.
    public var description: String {
        switch self {
        case .closedByOwner: "closed"
        case .closedByServer: "the server closed the connection"
        case .unresolvable(let error): error.description
        case .stream(let error): error.description
        case .openTimedOut(let limit): "no handshake within \(limit)"
        case .answerTimedOut(let limit): "no answer within \(limit)"
        case .malformed(let error): "the server does not speak RESP3: \(error)"
        case .unexpectedReply: "the server sent a reply without a call"
        case .refused(let error): "the server has refused: \(error)"
        case .version(let version, let least):
            "the server has version \(version); \(least) or later is needed"
        case .replica: "the server is a replica"
        case .anotherServer:
            "the server is not the one that gets publications, or has been a replica"
        case .handshake(let command): "the server's reply to \(command) has an unknown form"
        }
    }
}

/// Why a command was not sent.
public enum RedisCallError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The connection is not open yet, or no longer.
    case notOpen
    /// With the command, `count` bytes would wait for their answers.
    case tooManyBytes(count: Int, limit: Int)

    /// A sentence for a log.
    public var description: String {
        switch self {
        case .notOpen: "the connection to Redis is not open"
        case .tooManyBytes(let count, let limit):
            "\(count) bytes of commands would wait for Redis's answers; the limit is \(limit)"
        }
    }
}
