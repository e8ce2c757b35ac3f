import HTTP1
import HTTPServer
import Net
import Synchronization
import Testing

/// A backend on an ephemeral port, which stores received requests.
final class Receiver: Sendable {
    /// The URL for webhooks.
    let url: String
    let port: UInt16

    private final class Kept: Sendable {
        let requests = Mutex<[HTTPRequest]>([])
    }

    private let service: HTTPService
    private let kept: Kept

    init(
        tls: TLSContext? = nil,
        answer: @escaping @Sendable (HTTPRequest) async -> Response = { _ in .text("OK") }
    ) throws {
        let address = try #require(SocketAddress(ip: "127.0.0.1", port: 0))
        let kept = Kept()
        service = try HTTPService.start(on: [address], tls: tls) { request in
            kept.requests.withLock { $0.append(request) }
            return await answer(request)
        }
        self.kept = kept
        port = try #require(service.addresses.first?.port)
        url = "\(tls == nil ? "http" : "https")://127.0.0.1:\(port)/hooks?a=b"
    }

    /// The requests received so far.
    var requests: [HTTPRequest] { kept.requests.withLock { $0 } }

    func stop() async { await service.stop(within: .zero) }
}
