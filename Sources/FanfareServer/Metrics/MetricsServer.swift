import HTTP1
import HTTPServer
import Net
import Synchronization

/// Where the metrics are asked for: a listener of its own, on a loop of its own, so that orphanedConnections at the public door
/// never meet it, and so that who scrapes is served while the shards are busy.
final class MetricsServer: Sendable {
    private let service = Mutex<HTTPService?>(nil)

    /// Listens.
    ///
    /// - Parameters:
    ///   - address: Where to.
    ///   - text: Makes what `GET /metrics` is answered with.
    /// - Returns: The address, with the port that the kernel chose.
    /// - Throws: The call that failed.
    func open(
        on address: SocketAddress,
        text: @escaping @Sendable () async -> String
    ) throws(SystemError) -> SocketAddress {
        let opened = try HTTPService.start(on: [address]) { request in
            guard request.path == "/metrics" else {
                return .text("Nothing is here but /metrics\n", status: 404)
            }
            guard [.get, .head].contains(request.method) else {
                let allowed: [Method] = [.get, .head]
                return Response(refusing: .methodNotAllowed(request.method, allowed: allowed))
            }
            return .text(await text())
        }
        service.withLock { $0 = opened }
        return opened.addresses.first ?? address
    }

    /// Closes; who is being answered has a second.
    func close() async {
        let service = service.withLock { service in
            defer { service = nil }
            return service
        }
        await service?.stop(within: .seconds(1))
    }
}
