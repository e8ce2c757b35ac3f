import HTTP1
import Net
import PusherProtocol
import Shard

/// A client's request for a connection, over any transport.
struct ConnectionRequest {
    let head: RequestHead
    /// The peer's address; `nil` if it is not known.
    let peer: SocketAddress?
    /// Whether the request came over TLS.
    let isSecure: Bool
    /// The path before `/app/KEY` and the session token.
    let pathPrefix: String
    /// The end of that path; `nil` if it is the whole one.
    var pathEnd: Int?

    /// Calls `body` with the target as that of a WebSocket: of another transport, it has no query.
    private func withTarget<R, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        guard let pathEnd else { return try head.withPathAndQuery(body) }
        return try head.withPathAndQuery { (target) throws(E) in
            try body(target.extracting(0..<pathEnd))
        }
    }

    /// Calls `body` with the public key of the app.
    func withKey<R>(_ body: (Span<UInt8>) -> R) throws(PusherCode) -> R {
        try withTarget { (target) throws(PusherCode) in
            try ConnectionURL.withKey(inTarget: target, pathPrefix: pathPrefix, body)
        }
    }

    /// The version of the protocol; throws the code to close with.
    func version(isRequired: Bool) throws(PusherCode) -> Int {
        try head.withPathAndQuery { (target) throws(PusherCode) in
            try ConnectionURL.version(inTarget: target, isRequired: isRequired)
        }
    }

    /// The session token; throws what is wrong with it.
    func sessionToken() throws(SessionTokenError) -> SessionToken? {
        try withTarget { (target) throws(SessionTokenError) in
            try ConnectionURL.sessionToken(inTarget: target, pathPrefix: pathPrefix)
        }
    }

    /// Whether the client requests receipts for client events with a key.
    var wantsReceipts: Bool { head.withTarget { ConnectionURL.wantsReceipts(inTarget: $0) } }
}

/// A transport that is made before its connection.
protocol CarryingTransport: Transport, StreamDelegate {
    /// Delivers the messages that arrive to a connection.
    func carry(_ connection: Connection)
}

extension CarryingTransport {
    func streamOverflowed(_ stream: Stream) { connection?.queueOverflowed() }

    func memoryBudget(of stream: Stream) -> MemoryBudget? { connection?.queueBudget }

    func streamExceededBudget(_ stream: Stream, _ budget: MemoryBudget) {
        connection?.queueExceeded(budget)
    }

    func streamDrained(_ stream: Stream) { connection?.queueDrained() }
}
