package import HTTP1
package import HTTPServer
package import Net
import Primitives
import PusherProtocol
import Shard
import WebSocket

/// The sessions over HTTP of one shard: for clients that cannot use WebSockets (SockJS protocol 0.3.3, as pusher-js has
/// it).
package final class HTTPSessions: HTTPContentReceiver {
    /// The path of a session: its app's key, and what the client calls it.
    typealias Name = [UInt8]

    /// The limits of what a client sends.
    struct Settings {
        /// The longest message, in bytes.
        let messageLengthMax: Int
        /// The length of the messages that wait from which no more are accepted, in bytes.
        let waitingBytesMax: Int
    }

    private let gateway: Gateway
    let settings: Settings
    let encoder = LineEncoder()
    private var sessions: [Name: HTTPSession] = [:]
    private let handovers: [Mailbox<HTTPHandover>]

    /// The most messages of one send request.
    private static var messagesMax: Int { 1_000 }

    package init(_ gateway: Gateway, handovers: [Mailbox<HTTPHandover>]) {
        self.gateway = gateway
        settings = Settings(
            messageLengthMax: gateway.settings.webSocketLimits.messageLengthMax,
            waitingBytesMax: gateway.settings.httpLimits.bodyLengthMax
        )
        self.handovers = handovers
    }

    /// The decision on a request; `nil` if it is for another path.
    package func decide(on head: RequestHead) -> HTTPDecision? {
        guard url(of: head) != nil else { return nil }
        switch head.method {
        case .post: return .accept(self)
        case .options: return .answer(Response(status: 204, fields: preflightFields(head)))
        default:
            return .answer(Response(refusing: .methodNotAllowed(head.method, allowed: [.post])))
        }
    }

    package func respond(to head: RequestHead, body: Span<UInt8>, on exchange: HTTPExchange) {
        guard let url = url(of: head) else {
            return exchange.respond(.text("Not found\n", status: 404))
        }
        let name = head.withPath { $0.extracting(0..<url.session.upperBound).copy() }
        let owner = owner(of: name)
        guard owner == gateway.core.context.shard else {
            return exchange.handOver(head, body) { [handovers] in handovers[owner].post($0) }
        }
        let fields = fields(of: head)
        if url.operation == .send {
            return exchange.respond(receive(body, of: sessions[name], head, fields))
        }
        if let session = sessions[name] {
            return session.receive(url.operation, exchange, fields, number: number(of: head))
        }
        open(name, url, head, exchange, fields)
    }

    /// The shard to which a session belongs, whichever its requests arrive at.
    private func owner(of name: Name) -> Int {
        guard handovers.count > 1 else { return gateway.core.context.shard }
        // FNV-1a: the same on all shards, unlike a Hasher's value in another process.
        let hash = name.reduce(UInt64(0xCBF2_9CE4_8422_2325)) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01B3
        }
        return Int((hash >> 32) % UInt64(handovers.count))
    }

    func remove(_ session: HTTPSession) { sessions[session.name] = nil }

    // MARK: - Opening

    private func open(
        _ name: Name,
        _ url: HTTPSessionURL,
        _ head: RequestHead,
        _ exchange: HTTPExchange,
        _ fields: [Field]
    ) {
        let request = ConnectionRequest(
            head: head,
            peer: exchange.peer,
            isSecure: exchange.stream?.isSecure == true,
            pathPrefix: url.connectionPrefix(after: gateway.settings.pathPrefix),
            pathEnd: url.connectionEnd
        )
        do throws(ConnectionRefusal) {
            var session: HTTPSession?
            let greetings = try gateway.connect(request) { (_) throws(ConnectionRefusal) in
                do throws(SystemError) {
                    let made = try HTTPSession(
                        name,
                        isSecure: request.isSecure,
                        of: self,
                        gateway.core.context
                    )
                    session = made
                    return made
                } catch {
                    throw ConnectionRefusal(.overCapacity, meeting: .connections)
                }
            }
            guard let session else { preconditionFailure("a connection has a transport") }
            sessions[name] = session
            session.open(greetings)
            session.receive(url.operation, exchange, fields, number: number(of: head))
        } catch {
            exchange.respond(Response(status: 200, fields: fields, body: Self.refusal(error)))
        }
    }

    /// The lines to a refused client: a session that is closed at once.
    private static func refusal(_ error: ConnectionRefusal) -> [UInt8] {
        var lines = SessionLines.open
        let message = ServerMessage.error(code: error.code, message: error.message)
        SessionLines.append(message.bytes.span, to: &lines)
        SessionLines.appendClose(code: error.code.rawValue, reason: error.message, to: &lines)
        return lines
    }

    // MARK: - Messages of the client

    private func receive(
        _ body: Span<UInt8>,
        of session: HTTPSession?,
        _ head: RequestHead,
        _ fields: [Field]
    ) -> Response {
        // RFC 9110 §15.5.5; the client then opens another session.
        guard let session else {
            return Response(status: 404, fields: fields, body: Array("No such session\n".utf8))
        }
        guard let messages = SessionLines.messages(in: body, countMax: Self.messagesMax) else {
            let text = "The content is an array of at most \(Self.messagesMax) strings\n"
            return Response(status: 400, fields: fields, body: Array(text.utf8))
        }
        session.receive(messages, number: number(of: head))
        return Response(status: 204, fields: fields)
    }

    /// The number of a request among all of its client; `nil` if it has none.
    private func number(of head: RequestHead) -> Int? {
        let query = head.withQuery { QueryParameters(parsing: $0) }
        return query["n"].flatMap { UInt32($0) }.map { Int($0) }
    }

    // MARK: - Requests

    private func url(of head: RequestHead) -> HTTPSessionURL? {
        // Nearly all other requests are for the API; the names of the operations tell them apart.
        head.withPath { HTTPSessionURL(path: $0, pathPrefix: gateway.settings.pathPrefix) }
    }

    /// The fields of every response: pages of all origins may read it, since the app's rule is checked at the opening.
    private func fields(of head: RequestHead) -> [Field] {
        var fields = [
            Field("Content-Type", "application/javascript; charset=UTF-8"),
            Field("Cache-Control", "no-store, no-transform"),
            // nginx: do not collect a response before it is passed on.
            Field("X-Accel-Buffering", "no"),
        ]
        if let origin = head.field("origin") {
            fields += [Field("Access-Control-Allow-Origin", origin), Field("Vary", "Origin")]
        }
        return fields
    }

    /// The fields of the answer to a preflight request (Fetch, "CORS protocol").
    private func preflightFields(_ head: RequestHead) -> [Field] {
        fields(of: head).filter { $0.name != "Content-Type" } + [
            Field("Access-Control-Allow-Methods", "POST, OPTIONS"),
            Field("Access-Control-Allow-Headers", "Content-Type"),
            Field("Access-Control-Max-Age", "86400"),
        ]
    }
}
