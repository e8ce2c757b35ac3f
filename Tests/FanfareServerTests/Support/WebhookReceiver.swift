import Digests
import HTTP1
import HTTPServer
import Net
import Synchronization
import Testing

/// A backend on a free port, which records the webhooks that it gets.
final class WebhookReceiver: Sendable {
    /// A received request.
    struct Request: Sendable {
        var path: String
        var fields: [String: String]
        var body: String

        /// The objects of `events`, as received.
        var events: String { String(body.drop { $0 != "[" }.dropFirst().dropLast(2)) }

        /// Whether the signature is that of the body, computed independently of the broker's own code.
        func isSigned(with secret: String) -> Bool {
            let (key, message) = (Array(secret.utf8), Array(body.utf8))
            let code = HMACSHA256(key: key.span).code(for: message.span)
            return fields["X-Pusher-Signature"] == Hex.encode(code)
        }
    }

    private final class Kept: Sendable {
        let requests = Mutex<[Request]>([])
    }

    /// The port of the listener.
    let port: UInt16
    private let service: HTTPService
    private let kept = Kept()

    /// Starts the listener, on any free port unless one is given.
    init(
        port: UInt16 = 0,
        answer: @escaping @Sendable () async -> Response = { .text("OK") }
    ) throws {
        let address = try #require(SocketAddress(ip: "127.0.0.1", port: port))
        service = try HTTPService.start(on: [address]) { [kept] request in
            // With their case, since some receivers compare it.
            let fields = request.head.fields.map { ($0.name, $0.value) }
            let received = Request(
                path: request.path,
                fields: Dictionary(fields) { "\($0), \($1)" },
                body: String(decoding: request.body, as: UTF8.self)
            )
            kept.requests.withLock { $0.append(received) }
            return await answer()
        }
        self.port = try #require(service.addresses.first?.port)
    }

    /// The received requests.
    var requests: [Request] { kept.requests.withLock { $0 } }
    /// The received events, in the order of their requests.
    var events: [String] { requests.map(\.events) }

    /// Waits for a number of requests, and returns their events.
    func events(
        _ count: Int,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> [String] {
        try await eventually(sourceLocation: sourceLocation) { requests.count >= count }
        return events
    }

    /// A URL of this backend.
    func url(_ path: String = "/webhooks") -> String { "http://127.0.0.1:\(port)\(path)" }

    func stop() async { await service.stop(within: .zero) }
}
